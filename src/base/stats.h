#pragma once
// Statistics of timings: medians, spread and a bootstrap interval. Pure functions.
#include <cstdint>
#include <vector>

namespace kp {

double median(std::vector<double> values);  // NaN for none

// Median absolute deviation from the median, unscaled.
double median_absolute_deviation(const std::vector<double>& values);

double geometric_mean(const std::vector<double>& values);  // values > 0

struct Interval {
  double low = 0;
  double high = 0;
};

// Percentile bootstrap interval of the median (Efron 1979), `level` such as 0.95.
Interval bootstrap_median(const std::vector<double>& values, double level, int rounds,
                          std::uint64_t seed);

}  // namespace kp
