#include <algorithm>
#include <map>

#include "findings/tools/bounds.h"
#include "findings/tools/tools.h"

namespace kp {
namespace {

// Sources of the thresholds: tool.md.
constexpr double kLongestGapUs = 50;  // a longer one is the host's own work, no launch
constexpr double kGapShare = 0.10;    // of busy time and such gaps together
constexpr std::int64_t kLeastGaps = 4;

struct Gaps {
  std::int64_t count = 0;
  double us = 0;       // of the short ones
  double busy_us = 0;  // some work was running on the device
  std::vector<double> kernel_us;
};

// Gaps between pieces of work on one device, overlapping streams counted once.
Gaps gaps_of(const std::vector<GpuEvent>& events) {
  Gaps gaps;
  std::map<int, std::int64_t> ends;  // by device: until when it is busy; events are by start
  for (const GpuEvent& event : events) {
    std::int64_t end = event.start_ns + event.duration_ns;
    if (event.work == GpuWork::kernel) {
      gaps.kernel_us.push_back(static_cast<double>(event.duration_ns) * 1e-3);
    }
    auto [it, first] = ends.try_emplace(event.device, event.start_ns);
    double gap_us = static_cast<double>(event.start_ns - it->second) * 1e-3;
    if (!first && gap_us > 0 && gap_us <= kLongestGapUs) {
      ++gaps.count;
      gaps.us += gap_us;
    }
    gaps.busy_us +=
        static_cast<double>(std::max<std::int64_t>(0, end - std::max(it->second, event.start_ns))) *
        1e-3;
    it->second = std::max(it->second, end);
  }
  return gaps;
}

std::vector<Finding> run(const ToolInput& input) {
  const Timeline& timeline = *input.profile.timeline;
  Gaps gaps = gaps_of(timeline.events);
  double share = gaps.busy_us > 0 ? gaps.us / (gaps.busy_us + gaps.us) : 0;
  if (gaps.count < kLeastGaps || share < kGapShare || gaps.kernel_us.empty()) return {};

  auto middle = gaps.kernel_us.begin() + static_cast<std::ptrdiff_t>(gaps.kernel_us.size() / 2);
  std::nth_element(gaps.kernel_us.begin(), middle, gaps.kernel_us.end());
  Finding finding;
  finding.cause = timeline.graph_nodes > 0 ? "gaps_in_graph" : "gaps_between_launches";
  finding.place = place_of(input.kernel, nullptr);
  if (finding.place.kernel.empty()) finding.place.kernel = "the whole";
  finding.numbers = {{"gaps", static_cast<double>(gaps.count)},
                     {"gap_us", gaps.us},
                     {"mean_gap_us", gaps.us / static_cast<double>(gaps.count)},
                     {"gap_pct", share * 100},
                     {"busy_us", gaps.busy_us},
                     {"kernels", static_cast<double>(gaps.kernel_us.size())},
                     {"median_kernel_us", *middle}};
  finding.predicted_gain = gain_without(std::min(share, 0.95));
  finding.gain_model = "busy time and gaps over busy time alone, of gaps up to 50 us";
  finding.severity = severity_by_gain(finding.predicted_gain);
  finding.confidence = 0.5;
  return {finding};
}

}  // namespace

Tool launch_overhead_tool() {
  return {.name = "launch_overhead",
          .says = "Finds time in which the device waits for the next launch.",
          .classes = {BoundClass::memory, BoundClass::compute, BoundClass::latency},
          .needs = {},
          .needs_sass = false,
          .run = run,
          .also_reads = {},
          .needs_timeline = true};
}

}  // namespace kp
