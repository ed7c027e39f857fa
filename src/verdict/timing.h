#pragma once
// When to stop taking samples, and what to make of them. No device in here.
#include <functional>

#include "device/device.h"
#include "verdict/verdict.h"

namespace kp {

struct TimingPolicy {
  double budget_s = 0.25;  // wall clock for one mode, flushes included
  int warmup = 3;          // samples thrown away first: module upload, clocks
  int min_samples = 10;
  int max_samples = 200;
  double narrow_enough =
      0.002;  // stop once the 95 % interval is within +- this share of the median
};

Timing summarize(const std::vector<double>& samples_ms, std::string_view mode, std::string_view l2);

// Calls `sample` (one time in ms) until the interval is narrow or the budget is spent.
DeviceResult<Timing> measure(const TimingPolicy& policy, std::string_view mode,
                             const std::function<DeviceResult<double>()>& sample);

}  // namespace kp
