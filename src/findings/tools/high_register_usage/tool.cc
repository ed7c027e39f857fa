#include <algorithm>
#include <cmath>

#include "findings/tools/bounds.h"
#include "findings/tools/tools.h"

namespace kp {
namespace {

// Sources of the thresholds: tool.md.
constexpr double kIssueBusy = 80;  // % of the issue slots used
constexpr double kNear = 0.20;     // of the registers to give up for one more block
constexpr double kMost = 240;      // registers a thread: the compiler is at the limit of 255
constexpr double kMostGain = 1.5;  // for one more block
constexpr double kLeastGain = 1.02;
constexpr double kRegistersPerSm = 65536;  // where the device does not say

double metric(const ToolInput& input, Metric name) {
  return *input.kernel.get(name);
}

double registers_per_sm(const ToolInput& input) {
  double of_device = input.profile.device ? input.profile.device->registers_per_sm : 0;
  return of_device > 0 ? of_device : kRegistersPerSm;
}

std::vector<Finding> run(const ToolInput& input) {
  double blocks = metric(input, Metric::occupancy_limit_registers);
  double others = std::min({metric(input, Metric::occupancy_limit_shared),
                            metric(input, Metric::occupancy_limit_warps),
                            metric(input, Metric::occupancy_limit_blocks)});
  double issue = metric(input, Metric::issue_active_pct);
  if (blocks < 1 || blocks >= others || issue >= kIssueBusy) return {};
  if (metric(input, Metric::waves_per_sm) < 1) return {};  // no block waits for a place

  double registers = metric(input, Metric::registers_per_thread);
  double warps = std::ceil(metric(input, Metric::threads_per_block) / 32);
  // A warp is given its registers in steps of 256, which is 8 a thread.
  double target = std::floor(registers_per_sm(input) / ((blocks + 1) * warps * 32) / 8) * 8;
  bool near = target > 0 && registers - target <= kNear * registers;
  if (!near && registers < kMost) return {};

  double achieved = std::max(1.0, metric(input, Metric::occupancy_achieved_pct));
  double gain =
      std::min({metric(input, Metric::occupancy_theoretical_pct) * (blocks + 1) / blocks / achieved,
                latency_headroom(input), kMostGain});
  if (gain < kLeastGain) return {};

  Finding finding;
  finding.cause = near ? "near_one_more_block" : "at_the_limit";
  finding.place = place_of(input.kernel, nullptr);
  finding.numbers = {{"registers_per_thread", registers},
                     {"target_registers", target},
                     {"fewer_registers", registers - target},
                     {"blocks_per_sm", blocks},
                     {"target_blocks_per_sm", blocks + 1},
                     {"threads_per_block", metric(input, Metric::threads_per_block)},
                     {"occupancy_achieved_pct", metric(input, Metric::occupancy_achieved_pct)},
                     {"issue_active_pct", issue}};
  finding.predicted_gain = gain;
  finding.gain_model =
      "warps of one more block over those that were resident, until the busiest unit is at its "
      "peak, 1.5x at most";
  finding.severity = severity_by_gain(gain);
  finding.confidence = near ? 0.45 : 0.3;
  return {finding};
}

}  // namespace

Tool high_register_usage_tool() {
  return {.name = "high_register_usage",
          .says = "Finds kernels that a few registers less would give one more resident block.",
          .classes = {BoundClass::latency, BoundClass::compute},
          .needs = {Metric::registers_per_thread, Metric::threads_per_block,
                    Metric::occupancy_limit_registers, Metric::occupancy_limit_shared,
                    Metric::occupancy_limit_warps, Metric::occupancy_limit_blocks,
                    Metric::occupancy_achieved_pct, Metric::occupancy_theoretical_pct,
                    Metric::waves_per_sm, Metric::issue_active_pct, Metric::sm_throughput_pct,
                    Metric::memory_throughput_pct},
          .needs_sass = false,
          .run = run,
          .also_reads = {Metric::dram_gbs, Metric::dram_throughput_pct}};
}

}  // namespace kp
