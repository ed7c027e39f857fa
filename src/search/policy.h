#pragma once
// The policy of the search: pure functions of numbers, each with its own test.
#include <cstdint>
#include <span>
#include <vector>

#include "search/options.h"

namespace kp {

// The most that a kernel can gain: baseline over the speed of light, both in ms. An unknown speed
// of light (0) gives options.assumed_speed_of_light.
double speedup_at_roofline(double baseline_ms, double speed_of_light_ms,
                           const SearchOptions& options);

// log(speedup) / log(limit), clipped to [0, 1]; 0 for a candidate that is not correct, however fast
// (the correctness wall), and for one without a time (speedup 0).
double log_reward(bool correct, double speedup, double limit);

// Value of a node in [0, 1]. A virtual loss counts as a visit that gave nothing.
double node_value(double reward_sum, double best_reward, int visits, int virtual_loss,
                  double best_share);

// Weights (> 0) made to sum to 1.
std::vector<double> priors(std::span<const double> weights);

// Weight of a child that follows a directive: 1 when it promises nothing.
double directive_weight(double predicted_gain, double confidence);

// PUCT (Silver et al. 2017): value + exploration * prior * sqrt(parent visits) / (1 + visits).
double puct(double value, double prior, int parent_visits, int visits, double exploration);

// Progressive widening: how many children a node may have after so many visits.
int child_limit(bool correct, int visits, const SearchOptions& options);

// A number in [0, 1) for breaking ties: the same for the same seed, position and item.
double tie_break(std::uint64_t seed, std::uint64_t position, std::uint64_t item);

}  // namespace kp
