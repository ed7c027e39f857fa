#include <algorithm>
#include <cmath>

#include "findings/tools/bounds.h"
#include "findings/tools/tools.h"

namespace kp {
namespace {

// Sources of the thresholds: tool.md.
constexpr double kFew = 26;      // of 32 threads at work in an instruction
constexpr double kUniform = 95;  // % of the branches: then branches are not the cause
constexpr double kBusy = 60;  // % of peak: memory, not instructions, is what the kernel waits for
constexpr double kLeastGain = 1.05;

double metric(const ToolInput& input, Metric name) {
  return *input.kernel.get(name);
}

// Threads that a warp has at most, on average over the block's warps.
double threads_a_warp(const ToolInput& input) {
  double threads = input.kernel.get(Metric::threads_per_block).value_or(0);
  return threads > 0 ? threads / std::ceil(threads / 32) : 32;
}

std::vector<Finding> run(const ToolInput& input) {
  double active = metric(input, Metric::threads_per_instruction);
  double enabled = metric(input, Metric::enabled_threads_per_instruction);
  double possible = threads_a_warp(input);
  auto uniform = input.kernel.get(Metric::uniform_branches_pct);
  if (enabled <= 0 || active <= 0) return {};

  Finding finding;
  double now = active;
  double then = possible;
  if (possible < kFew && active > 0.9 * possible) {
    finding.cause = "part_warps";
    then = 32;
  } else if (active < kFew && (!uniform || *uniform < kUniform || active < possible / 2)) {
    finding.cause = "branches";
  } else if (enabled < kFew && active >= kFew) {
    finding.cause = "predicates";
    now = enabled;
    then = active;
  } else {
    return {};
  }
  // Fewer instructions for the same work help as far as instructions, not memory, take the time.
  double memory = metric(input, Metric::memory_throughput_pct);
  double gain = then / now;
  if (memory >= kBusy) gain = std::min(gain, 100 / memory);
  if (gain < kLeastGain) return {};

  finding.place =
      place_of(input.kernel, input.kernel.sass ? hottest(*input.kernel.sass, {"BRA"}) : nullptr);
  finding.numbers = {{"active_threads", active},
                     {"enabled_threads", enabled},
                     {"possible_threads", possible},
                     {"idle_pct", (1 - now / 32) * 100},
                     {"memory_throughput_pct", memory}};
  if (uniform) finding.numbers["uniform_branches_pct"] = *uniform;
  if (auto threads = input.kernel.get(Metric::threads_per_block)) {
    finding.numbers["threads_per_block"] = *threads;
  }
  finding.predicted_gain = gain;
  finding.gain_model =
      "threads that could work in an instruction over those that do, until memory is at its peak";
  finding.severity = severity_by_gain(gain);
  finding.confidence = finding.cause == "predicates" ? 0.3 : 0.5;
  return {finding};
}

}  // namespace

Tool branch_divergence_tool() {
  return {.name = "branch_divergence",
          .says = "Finds warps in which only part of the threads work.",
          .classes = {BoundClass::latency, BoundClass::compute},
          .needs = {Metric::threads_per_instruction, Metric::enabled_threads_per_instruction,
                    Metric::memory_throughput_pct},
          .needs_sass = false,
          .run = run,
          .also_reads = {Metric::uniform_branches_pct, Metric::threads_per_block}};
}

}  // namespace kp
