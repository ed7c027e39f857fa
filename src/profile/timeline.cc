#include "profile/timeline.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace kp {

std::string_view name_of(GpuWork work) {
  switch (work) {
    case GpuWork::copy:
      return "copy";
    case GpuWork::fill:
      return "fill";
    case GpuWork::graph:
      return "graph";
    default:
      return "kernel";
  }
}

bool is_time(std::int64_t ns) {
  return ns >= 0 && ns <= (std::int64_t{1} << 60);
}

std::vector<TimeSum> sums_of(const std::vector<NamedTime>& times) {
  std::map<std::string_view, std::vector<std::int64_t>> by_name;
  for (const NamedTime& t : times) by_name[t.name].push_back(t.ns);
  std::vector<TimeSum> sums;
  for (auto& [name, all] : by_name) {
    std::sort(all.begin(), all.end());
    TimeSum sum;
    sum.name = std::string(name);
    sum.count = static_cast<std::int64_t>(all.size());
    for (std::int64_t ns : all) sum.total_us += static_cast<double>(ns) * 1e-3;
    std::size_t half = all.size() / 2;
    double upper = static_cast<double>(all[half]);
    double lower = static_cast<double>(all[all.size() % 2 == 1 ? half : half - 1]);
    sum.median_us = (lower + upper) / 2 * 1e-3;
    sum.min_us = static_cast<double>(all.front()) * 1e-3;
    sum.max_us = static_cast<double>(all.back()) * 1e-3;
    sums.push_back(std::move(sum));
  }
  std::stable_sort(sums.begin(), sums.end(),
                   [](const TimeSum& a, const TimeSum& b) { return a.total_us > b.total_us; });
  return sums;
}

namespace {

// Time covered by the work on one device, event after event by start.
struct Cover {
  std::int64_t first = 0, end = 0;
  double gap_ns = 0;
};

void cover(Timeline& timeline) {
  std::map<int, Cover> devices;
  double largest = 0;
  for (const GpuEvent& e : timeline.events) {
    std::int64_t end = e.start_ns + e.duration_ns;
    auto [it, is_new] = devices.try_emplace(e.device, Cover{e.start_ns, end, 0});
    Cover& c = it->second;
    if (!is_new && e.start_ns > c.end) {
      auto gap = static_cast<double>(e.start_ns - c.end);
      c.gap_ns += gap;
      largest = std::max(largest, gap);
      ++timeline.gaps;
    }
    c.end = std::max(c.end, end);
  }
  for (const auto& [device, c] : devices) {
    timeline.span_us += static_cast<double>(c.end - c.first) * 1e-3;
    timeline.gap_us += c.gap_ns * 1e-3;
  }
  timeline.busy_us = timeline.span_us - timeline.gap_us;
  timeline.largest_gap_us = largest * 1e-3;
}

}  // namespace

void summarize(Timeline& timeline, std::size_t most) {
  auto& events = timeline.events;
  std::stable_sort(events.begin(), events.end(), [](const GpuEvent& a, const GpuEvent& b) {
    return std::tie(a.start_ns, a.device, a.stream) < std::tie(b.start_ns, b.device, b.stream);
  });
  std::vector<NamedTime> kernels, transfers;
  for (const GpuEvent& e : events) {
    (e.work == GpuWork::kernel ? kernels : transfers).push_back({e.name, e.duration_ns});
    if (e.graph_node != 0) ++timeline.graph_nodes;
  }
  if (!kernels.empty()) timeline.kernels = sums_of(kernels);
  if (!transfers.empty()) timeline.transfers = sums_of(transfers);
  cover(timeline);
  if (events.size() > most) {
    timeline.left_out += static_cast<std::int64_t>(events.size() - most);
    events.resize(most);
  }
}

}  // namespace kp
