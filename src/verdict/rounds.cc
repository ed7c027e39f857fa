#include "verdict/rounds.h"

#include <algorithm>

#include "base/clock.h"
#include "base/rng.h"

namespace kp {

namespace {

constexpr int kBootstrapRounds = 400;

// One side with what its samples have cost so far.
class Side {
 public:
  explicit Side(const TakeSamples& take) : take_(take) {}

  bool on() const { return take_ && !dropped_; }
  void drop() { dropped_ = true; }

  // False when it broke.
  Result<bool> warm_up() {
    if (!on()) return true;
    KP_ASSIGN(auto first, take_(1));  // module upload, graph capture
    if (!first) return false;
    Stopwatch watch;
    KP_ASSIGN(auto second, take_(1));
    cost_s_ = std::max(watch.seconds(), 1e-5);
    return second.has_value();
  }

  void plan(const RoundPolicy& policy, double share) {
    double affordable = policy.budget_s * share / policy.min_rounds / cost_s_;
    count_ = static_cast<int>(std::clamp(affordable, 1.0, static_cast<double>(policy.max_a_round)));
  }

  Result<bool> round(std::vector<double>& into) {
    if (!on()) return true;
    Stopwatch watch;
    KP_ASSIGN(auto samples, take_(count_));
    spent_s_ += watch.seconds();
    if (!samples) return false;
    into.insert(into.end(), samples->begin(), samples->end());
    return true;
  }

  bool spent(double budget_s) const { return !on() || spent_s_ >= budget_s; }

 private:
  const TakeSamples& take_;
  bool dropped_ = false;
  double cost_s_ = 0;
  double spent_s_ = 0;
  int count_ = 1;
};

bool narrow(const RoundPolicy& policy, const RoundSamples& samples, bool with_baseline) {
  const std::vector<double>& ours = samples.best();
  auto least = static_cast<std::size_t>(policy.min_samples);
  if (ours.size() < least || (with_baseline && samples.baseline.size() < least)) return false;
  if (with_baseline) {
    Interval ratio = ratio_interval(samples.baseline, ours);
    double middle = median(samples.baseline) / median(ours);
    return ratio.high - ratio.low <= 2 * policy.narrow_enough * middle;
  }
  Interval ci = bootstrap_median(ours, 0.95, kBootstrapRounds, 1);
  return ci.high - ci.low <= 2 * policy.narrow_enough * median(ours);
}

}  // namespace

const std::vector<double>& RoundSamples::best() const {
  return !graph.empty() && (stream.empty() || median(graph) < median(stream)) ? graph : stream;
}

Interval ratio_interval(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.empty() || b.empty()) return {};
  Rng rng(1);
  auto resampled = [&](const std::vector<double>& values) {
    std::vector<double> drawn(values.size());
    for (double& v : drawn) v = values[rng.below(values.size())];
    return median(std::move(drawn));
  };
  std::vector<double> ratios(kBootstrapRounds);
  for (double& r : ratios) {
    double above = resampled(a);
    r = above / resampled(b);
  }
  std::sort(ratios.begin(), ratios.end());
  auto at = [&](double share) {
    return ratios[static_cast<std::size_t>(share * (kBootstrapRounds - 1) + 0.5)];
  };
  return {at(0.025), at(0.975)};
}

Result<std::optional<RoundSamples>> measure_rounds(const RoundPolicy& policy, const Sides& sides) {
  Side stream(sides.stream), graph(sides.graph), baseline(sides.baseline);
  for (Side* side : {&stream, &graph, &baseline}) {
    KP_ASSIGN(bool went, side->warm_up());
    if (!went) return std::optional<RoundSamples>();
  }
  stream.plan(policy, graph.on() ? 0.5 : 1);
  graph.plan(policy, 0.5);
  baseline.plan(policy, 1);
  RoundSamples samples;
  while (samples.rounds < policy.max_rounds) {
    // A/B, then B/A: a drift within a round does not favour the one that comes second.
    bool ahead = samples.rounds % 2 == 0;
    if (!ahead) {
      KP_ASSIGN(bool went, baseline.round(samples.baseline));
      if (!went) return std::optional<RoundSamples>();
    }
    for (auto [side, into] : {std::pair{&stream, &samples.stream}, {&graph, &samples.graph}}) {
      KP_ASSIGN(bool went, side->round(*into));
      if (!went) return std::optional<RoundSamples>();
    }
    if (ahead) {
      KP_ASSIGN(bool went, baseline.round(samples.baseline));
      if (!went) return std::optional<RoundSamples>();
    }
    ++samples.rounds;
    if (samples.rounds == 2 && stream.on() && graph.on()) {
      double ratio = median(samples.stream) / median(samples.graph);
      if (ratio > policy.drop_above) stream.drop();
      if (ratio < 1 / policy.drop_above) graph.drop();
      stream.plan(policy, graph.on() ? 0.5 : 1);
      graph.plan(policy, stream.on() ? 0.5 : 1);
    }
    if (samples.rounds < policy.min_rounds) continue;
    bool all_spent = stream.spent(policy.budget_s) && graph.spent(policy.budget_s) &&
                     baseline.spent(policy.budget_s);
    if (all_spent || narrow(policy, samples, baseline.on())) break;
  }
  return std::optional<RoundSamples>(std::move(samples));
}

}  // namespace kp
