#include "base/stats.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/rng.h"

namespace kp {

double median(std::vector<double> values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  double upper = *middle;
  double lower = *std::max_element(values.begin(), middle);
  return 0.5 * (lower + upper);
}

double median_absolute_deviation(const std::vector<double>& values) {
  double m = median(values);
  std::vector<double> distances;
  distances.reserve(values.size());
  for (double v : values) distances.push_back(std::abs(v - m));
  return median(std::move(distances));
}

double geometric_mean(const std::vector<double>& values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  double sum = 0;
  for (double v : values) sum += std::log(v);
  return std::exp(sum / static_cast<double>(values.size()));
}

Interval bootstrap_median(const std::vector<double>& values, double level, int rounds,
                          std::uint64_t seed) {
  if (values.empty()) return {};
  Rng rng(seed);
  std::vector<double> medians;
  std::vector<double> sample(values.size());
  for (int r = 0; r < rounds; ++r) {
    for (double& s : sample) s = values[rng.below(values.size())];
    medians.push_back(median(sample));
  }
  std::sort(medians.begin(), medians.end());
  auto at = [&](double q) {
    auto i = static_cast<std::size_t>(q * static_cast<double>(medians.size() - 1) + 0.5);
    return medians[std::min(i, medians.size() - 1)];
  };
  return {at((1 - level) / 2), at((1 + level) / 2)};
}

}  // namespace kp
