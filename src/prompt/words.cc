#include "prompt/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace kp {
namespace {

std::string scaled(double value, const std::array<const char*, 5>& units) {
  std::size_t i = 0;
  while (value >= 1000 && i + 1 < units.size()) {
    value /= 1000;
    ++i;
  }
  return fmt::format("{:.3g} {}", value, units[i]);
}

}  // namespace

std::string bytes_in_words(double bytes) {
  return scaled(bytes, {"bytes", "KB", "MB", "GB", "TB"});
}

std::string flops_in_words(double flops) {
  return scaled(flops, {"FLOP", "KFLOP", "MFLOP", "GFLOP", "TFLOP"});
}

std::string shape_in_words(const std::vector<std::int64_t>& shape) {
  return fmt::format("({})", fmt::join(shape, ", "));
}

std::string precision_in_words(const Task& task) {
  bool native = task.kind == TaskKind::native;
  auto own = [native](const char* how) {
    return native ? std::string("the reference kernel's own")
                  : fmt::format("PyTorch's own {}", how);
  };
  std::string words;
  switch (task.precision) {
    case Precision::strict:
      words = fmt::format(
          "Strict: as exact as the reference in the tensors' own types. The error of each output "
          "against the double-precision truth may not be more than a small multiple of {}. "
          "Accumulate float sums in float or better; a single TF32, BF16 or FP16 product of "
          "float operands is too coarse, a split into several (3xTF32, for example) is not.",
          own("(TF32 off)"));
      break;
    case Precision::tf32:
      words = fmt::format(
          "TF32: matrix products and convolutions may round their float operands to TF32 (tensor "
          "cores) and accumulate in float. The error of each output against the double-precision "
          "truth may not be more than a small multiple of {}. BF16 and FP16 operands are too "
          "coarse.",
          own("with TF32 on"));
      break;
    case Precision::half:
      words = fmt::format(
          "Half: inner arithmetic may use BF16 or FP16 operands with float accumulation. The error "
          "of each output against the double-precision truth may not be more than a small multiple "
          "of {}. The tensors keep their types.",
          own("in BF16"));
      break;
  }
  if (task.tolerance)
    words += fmt::format(" An absolute tolerance of {:g} and a relative one of {:g} were set.",
                         task.tolerance->atol, task.tolerance->rtol);
  return words;
}

std::string work_in_words(const Task& task) {
  const Work& work = task.work;
  std::vector<std::string> parts;
  if (work.bytes > 0)
    parts.push_back(fmt::format(
        "{} of memory traffic (each input and parameter read once, each output written once)",
        bytes_in_words(work.bytes)));
  if (work.matmul_flops > 0)
    parts.push_back(
        fmt::format("{} in matrix products or convolutions", flops_in_words(work.matmul_flops)));
  if (work.other_flops > 0)
    parts.push_back(fmt::format("about {} of other arithmetic", flops_in_words(work.other_flops)));
  if (parts.empty()) return "";
  return fmt::format("Any kernel for this task has to do: {}.", join(parts, "; "));
}

std::string device_in_words(const DeviceInfo& d) {
  const LaunchLimits& l = d.limits;
  std::string words = fmt::format(
      "{} (compute capability {}.{}, compiled for {}): {} SMs, each with up to {} threads, {} "
      "blocks, {} registers and {} bytes of shared memory",
      d.name, d.cc_major, d.cc_minor, d.arch(), d.sms, d.max_threads_per_sm, d.max_blocks_per_sm,
      d.registers_per_sm, d.smem_per_sm);
  words += fmt::format("; L2 of {}, memory of {}.", bytes_in_words(static_cast<double>(d.l2_bytes)),
                       bytes_in_words(static_cast<double>(d.memory_bytes)));
  words += fmt::format(
      " A block has at most {} threads ({} x {} x {}) and {} bytes of shared memory, a grid at "
      "most {} x {} x {} blocks, a cluster at most {} blocks.",
      l.max_threads_per_block, l.max_block[0], l.max_block[1], l.max_block[2], l.max_dynamic_smem,
      l.max_grid[0], l.max_grid[1], l.max_grid[2], l.max_cluster);
  return words;
}

std::string ceilings_in_words(const Ceilings& c) {
  std::vector<std::string> parts;
  auto add = [&](double value, const char* unit, const char* what) {
    if (value > 0) parts.push_back(fmt::format("{} {:.4g} {}", what, value, unit));
  };
  add(c.dram_gbs, "GB/s", "memory (read plus write)");
  add(c.l2_gbs, "GB/s", "reads from L2");
  add(c.fp32_tflops, "TFLOP/s", "FP32");
  add(c.fp64_tflops, "TFLOP/s", "FP64");
  add(c.tf32_tflops, "TFLOP/s", "TF32 tensor cores");
  add(c.bf16_tflops, "TFLOP/s", "BF16 tensor cores");
  add(c.fp16_tflops, "TFLOP/s", "FP16 tensor cores");
  add(c.launch_us, "us", "one launch after another");
  if (parts.empty()) return "";
  return fmt::format("The most that was measured on this device: {}.", join(parts, ", "));
}

std::string light_in_words(const Roofline& r) {
  if (r.speed_of_light_ms <= 0) return "";
  std::string words = fmt::format(
      "At the measured rates this task takes at least {:.4g} ms (memory {:.4g} ms, arithmetic "
      "{:.4g} ms, launches {:.4g} ms).",
      r.speed_of_light_ms, r.memory_ms, r.compute_ms, r.launch_ms);
  std::string_view why = trim(r.why);
  return why.empty() ? words : fmt::format("{} {}", words, why);
}

std::string fence_for(std::string_view text) {
  std::size_t longest = 0;
  std::size_t run = 0;
  for (char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return std::string(std::max<std::size_t>(3, longest + 1), '`');
}

}  // namespace kp
