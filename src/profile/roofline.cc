#include "profile/roofline.h"

#include <fmt/format.h>

#include <algorithm>

namespace kp {

namespace {

// Below so many launches' worth of work the start and the end of a kernel, not its throughput,
// decide its time.
constexpr double kFewLaunches = 3;

// Nsight Compute's own speed-of-light rule calls a kernel latency-bound when compute and memory are
// both below this share of their peaks (sections/SpeedOfLight.py, latency_bound_threshold).
constexpr double kLatencyBoundPct = 60;

struct Ceiling {
  double tflops = 0;
  std::string name;
};

Ceiling better(Ceiling a, Ceiling b) {
  return b.tflops > a.tflops ? b : a;
}

Ceiling half_ceiling(const Ceilings& c) {
  return better({c.bf16_tflops, "BF16 tensor cores"}, {c.fp16_tflops, "FP16 tensor cores"});
}

Ceiling matrix_ceiling(const Ceilings& c, Precision precision, DType type) {
  if (type == DType::f64 || type == DType::c128) return {c.fp64_tflops, "FP64"};
  if (type == DType::bf16 && c.bf16_tflops > 0) return {c.bf16_tflops, "BF16 tensor cores"};
  if (type == DType::f16 && c.fp16_tflops > 0) return {c.fp16_tflops, "FP16 tensor cores"};
  if (type == DType::f16 || type == DType::bf16) return half_ceiling(c);
  Ceiling fp32{c.fp32_tflops, "FP32"};
  switch (precision) {
    case Precision::half:
      return better(fp32, half_ceiling(c));
    case Precision::tf32:
      return better(fp32, {c.tf32_tflops, "TF32 tensor cores"});
    default:
      return better(fp32, {c.tf32_tflops / 3, "3xTF32 (a third of the TF32 tensor cores)"});
  }
}

struct Part {
  double ms = 0;
  bool known = true;
  std::string why;
};

Part memory_part(const Work& work, const Ceilings& c) {
  if (work.bytes <= 0) return {0, false, "the bytes that the task must move are unknown"};
  if (c.dram_gbs <= 0) return {0, false, "the DRAM bandwidth was not measured"};
  double ms = work.bytes / (c.dram_gbs * 1e9) * 1e3;
  return {ms, true,
          fmt::format("{:.4g} MB over {:.4g} GB/s of DRAM take {:.4g} ms", work.bytes / 1e6,
                      c.dram_gbs, ms)};
}

Part compute_part(const Work& work, const Ceilings& c, Precision precision, DType type) {
  Part part;
  auto add = [&](double flops, const Ceiling& ceiling, std::string_view what) {
    if (flops <= 0) return;
    if (!part.why.empty()) part.why += "; ";
    if (ceiling.tflops <= 0) {
      part.known = false;
      part.why += fmt::format("{:.4g} GFLOP of {}: the ceiling of {} was not measured", flops / 1e9,
                              what, ceiling.name);
      return;
    }
    double ms = flops / (ceiling.tflops * 1e12) * 1e3;
    part.ms += ms;
    part.why += fmt::format("{:.4g} GFLOP of {} at {:.4g} TFLOP/s ({}) take {:.4g} ms", flops / 1e9,
                            what, ceiling.tflops, ceiling.name, ms);
  };
  bool fp64 = type == DType::f64 || type == DType::c128;
  add(work.matmul_flops, matrix_ceiling(c, precision, type), "matrix products");
  add(work.other_flops, fp64 ? Ceiling{c.fp64_tflops, "FP64"} : Ceiling{c.fp32_tflops, "FP32"},
      "other work");
  if (part.why.empty()) part.why = "no arithmetic is counted";
  return part;
}

}  // namespace

Roofline roofline_of(const Work& work, const Ceilings& ceilings, Precision precision,
                     DType matmul) {
  Part memory = memory_part(work, ceilings);
  Part compute = compute_part(work, ceilings, precision, matmul);
  Roofline r;
  r.memory_ms = memory.ms;
  r.compute_ms = compute.ms;
  r.launch_ms = ceilings.launch_us / 1e3;
  double busy_ms = std::max(memory.ms, compute.ms);
  r.speed_of_light_ms = std::max(busy_ms, r.launch_ms);
  r.why = fmt::format("By theory: {}; {}; ", memory.why, compute.why);
  if (!memory.known || !compute.known) {
    r.speed_of_light_ms = busy_ms > 0 ? r.speed_of_light_ms : 0;
    r.why += "so the class is open.";
    return r;
  }
  if (busy_ms < kFewLaunches * r.launch_ms) {
    r.by_theory = BoundClass::latency;
    r.why += fmt::format("the longer one is under {} launches of {:.4g} us: latency-bound.",
                         kFewLaunches, ceilings.launch_us);
  } else if (memory.ms >= compute.ms) {
    r.by_theory = BoundClass::memory;
    r.why += "the bytes take longer: memory-bound.";
  } else {
    r.by_theory = BoundClass::compute;
    r.why += "the arithmetic takes longer: compute-bound.";
  }
  r.bound = *r.by_theory;
  return r;
}

// The peak that ncu knows is the data sheet's; DRAM is held against what was measured.
static double dram_of_ceiling(const KernelProfile& kernel,
                              const std::optional<Ceilings>& ceilings) {
  auto gbs = kernel.get(Metric::dram_gbs);
  return gbs && ceilings && ceilings->dram_gbs > 0 ? 100 * *gbs / ceilings->dram_gbs : 0;
}

std::optional<BoundClass> measured_class(const KernelProfile& kernel,
                                         const std::optional<Ceilings>& ceilings) {
  auto sm = kernel.get(Metric::sm_throughput_pct);
  auto memory = kernel.get(Metric::memory_throughput_pct);
  if (!sm || !memory) return std::nullopt;
  double memory_pct = std::max(*memory, dram_of_ceiling(kernel, ceilings));
  if (*sm < kLatencyBoundPct && memory_pct < kLatencyBoundPct) return BoundClass::latency;
  return *sm > memory_pct ? BoundClass::compute : BoundClass::memory;
}

void add_measurement(Profile& profile) {
  Roofline& r = profile.roofline;
  auto say = [&](const std::string& text) { r.why += (r.why.empty() ? "" : " ") + text; };
  const KernelProfile* kernel = profile.dominant();
  auto sm = kernel != nullptr ? kernel->get(Metric::sm_throughput_pct) : std::nullopt;
  auto memory = kernel != nullptr ? kernel->get(Metric::memory_throughput_pct) : std::nullopt;
  if (!sm || !memory) {
    say(r.by_theory ? "Nothing was measured."
                    : "Nothing was measured either; the tools for latency-bound kernels are on.");
    return;
  }
  double of_ceiling = dram_of_ceiling(*kernel, profile.ceilings);
  double memory_pct = std::max(*memory, of_ceiling);
  BoundClass measured = *measured_class(*kernel, profile.ceilings);
  r.by_measurement = measured;
  say(
      fmt::format("By measurement: {} uses {:.4g} % of the multiprocessors' peak and {:.4g} % of "
                  "memory's{}: {}-bound.",
                  kernel->kernel, *sm, memory_pct,
                  of_ceiling > *memory ? " (DRAM's measured ceiling)" : "", name_of(measured)));
  if (!r.by_theory) {
    r.bound = measured;
  } else if (*r.by_theory != measured) {
    say(fmt::format("They differ; theory decides: {}-bound.", name_of(*r.by_theory)));
  }
}

}  // namespace kp
