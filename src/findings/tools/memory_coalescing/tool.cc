#include <algorithm>

#include "findings/tools/bounds.h"
#include "findings/tools/tools.h"

namespace kp {
namespace {

// Sources of the thresholds: tool.md.
constexpr double kLowHit = 50;        // % of L1's sector look-ups
constexpr double kHalfSector = 16;    // bytes of 32 that threads asked for
constexpr double kStallShare = 0.30;  // of the warp-cycles between two instructions
constexpr double kLeastGain = 1.02;

std::vector<Finding> run(const ToolInput& input) {
  double hit = *input.kernel.get(Metric::l1_hit_pct);
  double used = *input.kernel.get(Metric::global_load_bytes_per_sector);
  auto stalls = stall_share(input, {Metric::stall_long_scoreboard, Metric::stall_lg_throttle});
  // Zero: the kernel loads nothing from global memory.
  if (used <= 0 || used > kHalfSector || hit >= kLowHit || !stalls || *stalls < kStallShare) {
    return {};
  }
  double unused = 1 - used / 32;
  double loads = input.kernel.get(Metric::global_load_sectors).value_or(0);
  double stores = input.kernel.get(Metric::global_store_sectors).value_or(0);
  if (loads > 0) unused *= loads / (loads + stores);

  Finding finding;
  auto gain = gain_of_fewer_sectors(input, unused, finding.gain_model);
  if (!gain || *gain < kLeastGain) return {};
  finding.cause = "unused_bytes";
  finding.place = place_of(input.kernel, nullptr);
  finding.numbers = {{"l1_hit_pct", hit},
                     {"used_bytes", used},
                     {"unused_pct", (1 - used / 32) * 100},
                     {"stall_pct", *stalls * 100}};
  finding.predicted_gain = *gain;
  finding.severity = severity_by_gain(*gain);
  finding.confidence = 0.5;
  return {finding};
}

}  // namespace

Tool memory_coalescing_tool() {
  return {
      .name = "memory_coalescing",
      .says =
          "Finds kernels that wait for memory, miss L1, and use less than half of what they fetch.",
      .classes = {BoundClass::memory, BoundClass::latency},
      .needs = {Metric::l1_hit_pct, Metric::global_load_bytes_per_sector,
                Metric::stall_long_scoreboard, Metric::stall_lg_throttle,
                Metric::warp_cycles_per_issue},
      .needs_sass = false,
      .run = run,
      .also_reads = {Metric::global_load_sectors, Metric::global_store_sectors,
                     Metric::dram_bytes_read, Metric::dram_bytes_write, Metric::dram_gbs,
                     Metric::dram_throughput_pct, Metric::l1_throughput_pct,
                     Metric::l2_throughput_pct}};
}

}  // namespace kp
