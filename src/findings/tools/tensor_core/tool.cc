#include <algorithm>
#include <optional>

#include "findings/tools/bounds.h"
#include "findings/tools/tools.h"
#include "profile/sass_products.h"

namespace kp {
namespace {

// Sources of the thresholds: tool.md.
constexpr double kDominates = 0.5;       // of the task's operations are matrix products
constexpr double kKernelsPart = 0.25;    // of them are this kernel's
constexpr double kLowUtilisation = 50;   // % of the tensor pipe
constexpr double kGoodUtilisation = 80;  // %
constexpr double kMmaOnHopper = 0.629;   // of the peak that mma.sync reaches on average
constexpr double kSplitProducts = 3;     // TF32 products for one FP32 product (3xTF32)
constexpr double kLeastGain = 1.05;
constexpr std::string_view kSays =
    "Finds matrix products off the tensor cores, on their slow path, or on starved ones.";
constexpr double kProductIntensity = 16;  // operations a DRAM byte: beyond FP32's ridge

double tensor_instructions(const SassSummary& sass) {
  return sass.hgmma + sass.hmma + sass.imma + sass.dmma + sass.qgmma;
}

// Does this kernel do the task's products on the ordinary pipes? (HFMA2.MMA may set a constant.)
bool multiplies_without_tensor_cores(const ToolInput& input) {
  const SassSummary& sass = *input.kernel.sass;
  if (!input.profile.work) return true;  // product_flops looked at the code
  if (auto ffma = input.kernel.get(Metric::ffma_instructions); ffma && sass.hfma2 <= sass.ffma) {
    return 2 * *ffma >= kKernelsPart * input.profile.work->matmul_flops;
  }
  return sass.ffma + sass.hfma2 > 0 && sass.loops > 0;
}

// Operations of the task's products when they dominate it, or, without a task, of the kernel's own.
double product_flops(const ToolInput& input) {
  if (const auto& work = input.profile.work) {
    if (input.profile.roofline.bound == BoundClass::memory) return 0;  // bytes take longer
    bool dominates = (1 - kDominates) * work->matmul_flops >= kDominates * work->other_flops;
    return dominates ? work->matmul_flops : 0;
  }
  double bytes = input.kernel.get(Metric::dram_bytes_read).value_or(0) +
                 input.kernel.get(Metric::dram_bytes_write).value_or(0);
  double flops = 2 * 32 * executed_products(*input.kernel.sass);
  return bytes > 0 && flops >= kProductIntensity * bytes ? flops : 0;
}

// TFLOP/s of the tensor-core path that the task's precision allows; 0 when not measured.
double allowed_tflops(const ToolInput& input, bool half_data) {
  if (!input.profile.ceilings) return 0;
  const Ceilings& ceilings = *input.profile.ceilings;
  if (half_data || input.profile.precision == Precision::half) {
    return std::max(ceilings.bf16_tflops, ceilings.fp16_tflops);
  }
  double parts = input.profile.precision == Precision::strict ? kSplitProducts : 1;
  return ceilings.tf32_tflops / parts;
}

std::optional<Finding> no_tensor_core(const ToolInput& input) {
  const SassSummary& sass = *input.kernel.sass;
  bool half_data = sass.hfma2 > sass.ffma;
  bool strict = input.profile.precision == Precision::strict && !half_data;
  double fp32 = input.profile.ceilings ? input.profile.ceilings->fp32_tflops : 0;
  double path = allowed_tflops(input, half_data);
  double pipe_pct = *input.kernel.get(Metric::fp32_pipe_pct);
  bool half = half_data || input.profile.precision == Precision::half;
  Finding finding;
  finding.cause = strict ? "no_tensor_core_strict" : "no_tensor_core";
  finding.numbers = {{"multiply_adds_in_code", sass.ffma + sass.hfma2},
                     {"fp32_pipe_pct", pipe_pct}};
  finding.words["path"] = strict ? "3xTF32" : half ? "BF16 or FP16" : "TF32";
  finding.words[strict ? "strict" : half ? "half" : "tf32"] = "yes";
  finding.severity = Severity::high;
  finding.confidence = strict ? 0.5 : 0.7;
  // A kernel of 17 % FFMA use is held up by its tiling too, which the new one must have anyway.
  double tiling = std::max(1.0, kGoodUtilisation / std::max(1.0, pipe_pct));
  if (fp32 <= 0 || path <= 0) {
    finding.predicted_gain = tiling;
    finding.gain_model = "80 % over the FP32 pipe's use; this device's ceilings were not measured";
    return finding;
  }
  finding.numbers["fp32_tflops"] = fp32;
  finding.numbers["path_tflops"] = path;
  finding.numbers["tiling_gain_x"] = tiling;
  finding.predicted_gain = std::max(1.0, path / fp32) * tiling;
  finding.gain_model =
      "measured ceiling of the tensor-core path over that of FP32, times 80 % over the FP32 pipe's "
      "present utilisation";
  if (!strict && path < fp32 * kLeastGain) return std::nullopt;
  return finding;
}

std::vector<Finding> run(const ToolInput& input) {
  double matmul = product_flops(input);
  if (matmul <= 0) return {};

  const SassSummary& sass = *input.kernel.sass;
  double tensor_pct = *input.kernel.get(Metric::tensor_pipe_pct);
  std::vector<Finding> findings;
  if (tensor_instructions(sass) == 0) {
    if (!multiplies_without_tensor_cores(input)) return {};
    if (auto finding = no_tensor_core(input)) findings.push_back(*finding);
  }
  bool hopper = input.profile.device && input.profile.device->cc_major == 9;
  if (hopper && sass.hmma > 0 && sass.hgmma + sass.qgmma == 0) {
    Finding finding;
    finding.cause = "hmma_on_hopper";
    finding.numbers["hmma_in_code"] = sass.hmma;
    finding.predicted_gain = 1 / kMmaOnHopper;
    finding.gain_model = "wgmma's peak over what mma.sync reaches of it on average, 62.9 %";
    finding.severity = Severity::medium;
    finding.confidence = 0.5;
    findings.push_back(finding);
  } else if (tensor_instructions(sass) > 0 && tensor_pct < kLowUtilisation) {
    Finding finding;
    finding.cause = "low_tensor_utilisation";
    finding.numbers["async_copies_in_code"] = sass.async_copies;
    finding.predicted_gain = kGoodUtilisation / std::max(1.0, tensor_pct);
    finding.gain_model = "80 % over the tensor pipe's present utilisation";
    if (sass.async_copies == 0) finding.words["no_async"] = "yes";
    finding.severity = tensor_pct < kLowUtilisation / 2 ? Severity::high : Severity::medium;
    finding.confidence = 0.5;
    findings.push_back(finding);
  }
  for (Finding& finding : findings) {
    finding.place = place_of(input.kernel, nullptr);
    finding.numbers["tensor_pipe_pct"] = tensor_pct;
    finding.numbers["matmul_gflop"] = matmul / 1e9;
  }
  return findings;
}

}  // namespace

Tool tensor_core_tool() {
  return {.name = "tensor_core",
          .says = kSays,
          // A naive product measures as memory-bound: its loads keep L1 busy.
          .classes = {BoundClass::compute, BoundClass::memory},
          .needs = {Metric::tensor_pipe_pct, Metric::fp32_pipe_pct},
          .needs_sass = true,
          .run = run,
          .also_reads = {Metric::ffma_instructions, Metric::duration_us, Metric::dram_bytes_read,
                         Metric::dram_bytes_write}};
}

}  // namespace kp
