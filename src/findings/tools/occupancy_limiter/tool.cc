#include <algorithm>
#include <array>
#include <cmath>

#include "findings/tools/bounds.h"
#include "findings/tools/tools.h"

namespace kp {
namespace {

// Sources of the thresholds: tool.md.
constexpr double kIssueBusy = 80;       // % of the issue slots used: latency is hidden already
constexpr double kLowTheoretical = 80;  // % of the device's warps
constexpr double kGap = 10;             // points between theoretical and achieved
constexpr double kManyWaves = 4;        // from here on a tail does not explain the gap
constexpr double kLeastGain = 1.05;
constexpr double kMostGain = 2;  // occupancy alone rarely gives more
constexpr double kRegistersPerSm = 65536;

struct Limit {
  const char* cause;
  const char* words;
  Metric metric;
};
constexpr std::array<Limit, 4> kLimits = {
    {{"registers", "registers", Metric::occupancy_limit_registers},
     {"shared_memory", "shared memory", Metric::occupancy_limit_shared},
     {"block_size", "the warps of a block", Metric::occupancy_limit_warps},
     {"small_blocks", "the number of blocks", Metric::occupancy_limit_blocks}}};

double metric(const ToolInput& input, Metric name) {
  return *input.kernel.get(name);
}

void grid_too_small(const ToolInput& input, Finding& finding) {
  double blocks = metric(input, Metric::grid_blocks);
  double sms = input.profile.device ? input.profile.device->sms : 0;
  double achieved = metric(input, Metric::occupancy_achieved_pct);
  double raise = metric(input, Metric::occupancy_theoretical_pct) / std::max(1.0, achieved);
  finding.cause = "grid_too_small";
  if (sms > 0) {
    finding.numbers["sms"] = sms;
    if (blocks < sms) {
      raise *= sms / blocks;
      finding.numbers["idle_sms"] = sms - blocks;
    }
  }
  finding.predicted_gain = std::min(raise, latency_headroom(input));
  finding.gain_model =
      "idle SMs put to work and occupancy raised to the theoretical, until the busiest unit is at "
      "its peak";
  finding.confidence = 0.5;
}

// The resource that allows the fewest blocks; the next one says how far its removal helps.
bool resource_limit(const ToolInput& input, Finding& finding) {
  if (metric(input, Metric::occupancy_theoretical_pct) >= kLowTheoretical) return false;
  auto by_blocks = kLimits;
  std::stable_sort(by_blocks.begin(), by_blocks.end(), [&](const Limit& a, const Limit& b) {
    return metric(input, a.metric) < metric(input, b.metric);
  });
  double limit = std::max(1.0, metric(input, by_blocks[0].metric));
  double next = std::max(limit + 1, metric(input, by_blocks[1].metric));
  double target = std::min(next, 2 * limit);  // blocks a SM
  double theoretical = metric(input, Metric::occupancy_theoretical_pct);
  double threads = metric(input, Metric::threads_per_block);
  double target_pct = std::min(100.0, theoretical * target / limit);
  finding.cause = by_blocks[0].cause;
  if (metric(input, by_blocks[1].metric) <= limit) finding.words["also"] = by_blocks[1].words;
  finding.numbers["blocks_per_sm"] = limit;
  finding.numbers["target_blocks_per_sm"] = target;
  finding.numbers["target_occupancy_pct"] = target_pct;
  if (finding.cause == "registers") {
    double fit = std::floor(kRegistersPerSm / (target * threads) / 8) * 8;  // allocated in eights
    finding.numbers["registers_per_thread"] = metric(input, Metric::registers_per_thread);
    finding.numbers["target_registers"] = fit;
  }
  if (finding.cause == "shared_memory") {
    double smem = input.kernel.get(Metric::static_smem_bytes).value_or(0) +
                  input.kernel.get(Metric::dynamic_smem_bytes).value_or(0);
    if (smem > 0) finding.numbers["smem_bytes"] = smem;
    if (smem > 0) finding.numbers["target_smem_bytes"] = std::floor(smem * limit / target);
  }
  double achieved = std::max(1.0, metric(input, Metric::occupancy_achieved_pct));
  finding.predicted_gain = std::min({target_pct / achieved, latency_headroom(input), kMostGain});
  finding.gain_model =
      "target over achieved occupancy, until the busiest unit is at its peak, 2x at most";
  finding.confidence = 0.4;
  return true;
}

bool short_blocks(const ToolInput& input, Finding& finding) {
  double theoretical = metric(input, Metric::occupancy_theoretical_pct);
  double achieved = metric(input, Metric::occupancy_achieved_pct);
  if (theoretical - achieved < kGap || metric(input, Metric::waves_per_sm) < kManyWaves) {
    return false;
  }
  finding.cause = "short_blocks";
  finding.predicted_gain =
      std::min({theoretical / std::max(1.0, achieved), latency_headroom(input), kMostGain});
  finding.gain_model =
      "theoretical over achieved occupancy, until the busiest unit is at its peak, 2x at most";
  finding.confidence = 0.4;
  return true;
}

std::vector<Finding> run(const ToolInput& input) {
  if (metric(input, Metric::issue_active_pct) >= kIssueBusy) return {};
  Finding finding;
  finding.place = place_of(input.kernel, nullptr);
  for (Metric name :
       {Metric::occupancy_achieved_pct, Metric::occupancy_theoretical_pct, Metric::issue_active_pct,
        Metric::waves_per_sm, Metric::grid_blocks, Metric::threads_per_block}) {
    finding.numbers[std::string(info_of(name).name)] = metric(input, name);
  }
  if (metric(input, Metric::waves_per_sm) < 1) {
    grid_too_small(input, finding);
  } else if (!resource_limit(input, finding) && !short_blocks(input, finding)) {
    return {};
  }
  if (finding.predicted_gain < kLeastGain) return {};
  finding.severity = finding.predicted_gain >= 1.5 ? Severity::high : Severity::medium;
  return {finding};
}

}  // namespace

Tool occupancy_limiter_tool() {
  return {
      .name = "occupancy_limiter",
      .says =
          "Names what keeps the warps in flight few: registers, shared memory, block size "
          "or grid.",
      .classes = {BoundClass::latency},
      .needs = {Metric::occupancy_achieved_pct, Metric::occupancy_theoretical_pct,
                Metric::occupancy_limit_registers, Metric::occupancy_limit_shared,
                Metric::occupancy_limit_warps, Metric::occupancy_limit_blocks, Metric::waves_per_sm,
                Metric::grid_blocks, Metric::threads_per_block, Metric::registers_per_thread,
                Metric::issue_active_pct, Metric::sm_throughput_pct, Metric::memory_throughput_pct},
      .needs_sass = false,
      .run = run,
      .also_reads = {Metric::dynamic_smem_bytes, Metric::static_smem_bytes}};
}

}  // namespace kp
