#include "search/policy.h"

#include <algorithm>
#include <cmath>

#include "base/rng.h"

namespace kp {

double speedup_at_roofline(double baseline_ms, double speed_of_light_ms,
                           const SearchOptions& options) {
  if (!(baseline_ms > 0) || !(speed_of_light_ms > 0)) return options.assumed_speed_of_light;
  return std::max(options.least_speed_of_light, baseline_ms / speed_of_light_ms);
}

double log_reward(bool correct, double speedup, double limit) {
  if (!correct || !(speedup > 0) || !(limit > 1)) return 0;
  return std::clamp(std::log(speedup) / std::log(limit), 0.0, 1.0);
}

double node_value(double reward_sum, double best_reward, int visits, int virtual_loss,
                  double best_share) {
  int total = visits + virtual_loss;
  if (total <= 0) return 0;
  // The virtual loss lowers the share of the best too, or a good node would draw all proposals.
  double seen = static_cast<double>(visits) / total;
  return best_share * best_reward * seen + (1 - best_share) * reward_sum / total;
}

std::vector<double> priors(std::span<const double> weights) {
  double sum = 0;
  for (double w : weights) sum += std::max(w, 0.0);
  std::vector<double> shares;
  shares.reserve(weights.size());
  for (double w : weights)
    shares.push_back(sum > 0 ? std::max(w, 0.0) / sum : 1.0 / static_cast<double>(weights.size()));
  return shares;
}

double directive_weight(double predicted_gain, double confidence) {
  return 1 + std::max(0.0, predicted_gain - 1) * std::clamp(confidence, 0.0, 1.0);
}

double puct(double value, double prior, int parent_visits, int visits, double exploration) {
  return value + exploration * prior * std::sqrt(std::max(parent_visits, 1)) / (1 + visits);
}

int child_limit(bool correct, int visits, const SearchOptions& options) {
  double c = correct ? options.widen_c_correct : options.widen_c_broken;
  double alpha = correct ? options.widen_alpha_correct : options.widen_alpha_broken;
  double limit = c * std::pow(std::max(visits, 0), alpha);
  return static_cast<int>(std::min(limit + 1e-9, 1e6));  // 1e-9: 2 * sqrt(4) is 4 children
}

double tie_break(std::uint64_t seed, std::uint64_t position, std::uint64_t item) {
  return static_cast<double>(mix64(mix64(mix64(seed) ^ position) ^ item) >> 11) * 0x1.0p-53;
}

}  // namespace kp
