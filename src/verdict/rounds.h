#pragma once
// Interleaved timing: candidate and baseline by turns, so that what drifts (clocks, heat, other
// work on the host) drifts for both. No device in here.
#include <functional>
#include <optional>
#include <vector>

#include "base/result.h"
#include "base/stats.h"

namespace kp {

struct RoundPolicy {
  double budget_s = 0.12;  // wall clock of a side; at least `min_rounds` are done whatever it is
  int min_rounds = 4;
  int max_rounds = 25;
  int min_samples = 10;          // of each side, where the budget allows
  int max_a_round = 20;          // samples of one side
  double narrow_enough = 0.002;  // half width of the ratio's interval at which it is enough
};

// Takes `count` samples in ms. nullopt: it broke (the taker knows how); Error: the environment did.
using TakeSamples = std::function<Result<std::optional<std::vector<double>>>(int count)>;

// Of stream and graph the slower one is not timed after two rounds.
struct Sides {
  TakeSamples stream;
  TakeSamples graph;     // may be empty
  TakeSamples baseline;  // may be empty
};

struct RoundSamples {
  std::vector<double> stream, graph, baseline;  // in ms, warm-up left out
  int rounds = 0;
  const std::vector<double>& best() const;  // of the candidate's two
};

// nullopt: a side broke.
Result<std::optional<RoundSamples>> measure_rounds(const RoundPolicy& policy, const Sides& sides);

// Bootstrap interval (95 %) of median(a) / median(b).
Interval ratio_interval(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace kp
