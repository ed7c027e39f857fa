#include <algorithm>

#include "findings/tools/bounds.h"
#include "findings/tools/tools.h"

namespace kp {
namespace {

// Sources of the thresholds: tool.md.
constexpr double kAtCeiling = 0.80;    // of what DRAM can give
constexpr double kBusy = 0.60;         // of what DRAM can give
constexpr double kExtraBytes = 1.25;   // moved over needed
constexpr double kOtherUnitBusy = 80;  // % of peak: then DRAM is not what waits
constexpr double kShortestUs = 5;      // under it the start of a kernel dominates

struct Traffic {
  double kernel_bytes = 0;
  double all_bytes = 0;  // of all kernels of the profile
};

Traffic traffic_of(const ToolInput& input) {
  auto bytes = [](const KernelProfile& kernel) {
    return kernel.get(Metric::dram_bytes_read).value_or(0) +
           kernel.get(Metric::dram_bytes_write).value_or(0);
  };
  Traffic traffic;
  traffic.kernel_bytes = bytes(input.kernel);
  for (const KernelProfile& kernel : input.profile.kernels) traffic.all_bytes += bytes(kernel);
  return traffic;
}

Severity severity_of(double gain) {
  return gain >= 2 ? Severity::high : gain >= 1.15 ? Severity::medium : Severity::low;
}

std::vector<Finding> run(const ToolInput& input) {
  double us = *input.kernel.get(Metric::duration_us);
  double achieved = *input.kernel.get(Metric::dram_gbs);
  DramCeiling ceiling = dram_ceiling(input);
  if (ceiling.gbs <= 0 || achieved <= 0 || us < kShortestUs) return {};

  double fraction = achieved / ceiling.gbs;
  double headroom = std::max(1.0, 1 / fraction);
  Traffic traffic = traffic_of(input);
  double needed = input.profile.work ? input.profile.work->bytes : 0;
  double ratio = needed > 0 ? traffic.all_bytes / needed : 0;  // 0: unknown

  Finding finding;
  finding.place = place_of(input.kernel, nullptr);
  finding.numbers = {{"dram_gbs", achieved},
                     {"ceiling_gbs", ceiling.gbs},
                     {"ceiling_pct", fraction * 100},
                     {"duration_us", us},
                     {"moved_bytes", traffic.kernel_bytes}};
  finding.words["ceiling_source"] =
      ceiling.measured ? "measured on this device" : "89 % of the data sheet's peak";
  if (ratio > 0) {
    finding.numbers["all_moved_bytes"] = traffic.all_bytes;
    finding.numbers["needed_bytes"] = needed;
    finding.numbers["moved_over_needed_x"] = ratio;
  }

  if (fraction >= kBusy && ratio > kExtraBytes) {
    finding.cause = "at_ceiling_extra_bytes";
    finding.predicted_gain = ratio;
    finding.gain_model = "bytes moved over bytes that the task needs, at the same bandwidth";
    finding.confidence = 0.7;
  } else if (fraction >= kAtCeiling && ratio > 0) {
    finding.cause = "at_ceiling_minimal_bytes";
    finding.predicted_gain = headroom;
    finding.gain_model = "DRAM ceiling over achieved bandwidth, for the bytes moved now";
    finding.confidence = 0.3;
  } else if (fraction >= kAtCeiling) {
    finding.cause = "at_ceiling_unknown_bytes";
    finding.predicted_gain = headroom;
    finding.gain_model =
        "DRAM ceiling over achieved bandwidth; what fewer bytes give is not known without the task";
    finding.confidence = 0.3;
  } else {
    bool other = input.kernel.get(Metric::l1_throughput_pct).value_or(0) >= kOtherUnitBusy ||
                 input.kernel.get(Metric::sm_throughput_pct).value_or(0) >= kOtherUnitBusy;
    if (other) return {};
    finding.cause = "below_ceiling";
    finding.predicted_gain = headroom;
    finding.gain_model = "DRAM ceiling over achieved bandwidth";
    finding.confidence = 0.5;
  }
  finding.severity = finding.cause == "at_ceiling_minimal_bytes"
                         ? Severity::low
                         : severity_of(finding.predicted_gain);
  return {finding};
}

}  // namespace

Tool high_dram_throughput_tool() {
  return {.name = "high_dram_throughput",
          .says =
              "Says whether DRAM is near its ceiling, so that fewer bytes are the only way, or "
              "well below it.",
          .classes = {BoundClass::memory},
          .needs = {Metric::duration_us, Metric::dram_gbs, Metric::dram_throughput_pct,
                    Metric::dram_bytes_read, Metric::dram_bytes_write},
          .needs_sass = false,
          .run = run,
          .also_reads = {Metric::l1_throughput_pct, Metric::sm_throughput_pct, Metric::l2_hit_pct}};
}

}  // namespace kp
