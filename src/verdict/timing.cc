#include "verdict/timing.h"

#include "base/clock.h"

namespace kp {

Timing summarize(const std::vector<double>& samples_ms, std::string_view mode,
                 std::string_view l2) {
  Timing timing;
  timing.median_ms = median(samples_ms);
  timing.mad_ms = median_absolute_deviation(samples_ms);
  timing.ci95_ms = bootstrap_median(samples_ms, 0.95, 1000, 1);
  timing.samples = static_cast<int>(samples_ms.size());
  timing.mode = mode;
  timing.l2 = l2;
  return timing;
}

DeviceResult<Timing> measure(const TimingPolicy& policy, std::string_view mode,
                             const std::function<DeviceResult<double>()>& sample) {
  Stopwatch watch;
  for (int i = 0; i < policy.warmup; ++i) {
    if (auto ms = sample(); !ms) return tl::make_unexpected(ms.error());
  }
  std::vector<double> samples;
  while (static_cast<int>(samples.size()) < policy.max_samples) {
    auto ms = sample();
    if (!ms) return tl::make_unexpected(ms.error());
    samples.push_back(*ms);
    auto n = static_cast<int>(samples.size());
    if (n < policy.min_samples) continue;
    if (watch.seconds() > policy.budget_s) break;
    if (n % 10 == 0) {
      Interval ci = bootstrap_median(samples, 0.95, 200, 1);
      if (ci.high - ci.low <= 2 * policy.narrow_enough * median(samples)) break;
    }
  }
  return summarize(samples, mode, "cold");
}

}  // namespace kp
