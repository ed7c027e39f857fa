#include "verdict/rounds.h"

#include <algorithm>
#include <cmath>

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
    std::vector<double> unused;
    return take(kWarmUp, unused);
  }

  Result<bool> round(const RoundPolicy& policy, double share, std::vector<double>& into) {
    if (!on()) return true;
    double affordable = policy.budget_s * share / policy.min_rounds / cost_s_;
    return take(
        static_cast<int>(std::clamp(affordable, 1.0, static_cast<double>(policy.max_a_round))),
        into);
  }

 private:
  static constexpr int kWarmUp = 2;

  Result<bool> take(int count, std::vector<double>& into) {
    Stopwatch watch;
    KP_ASSIGN(auto samples, take_(count));
    cost_s_ = std::max(watch.seconds() / count, 1e-5);
    if (!samples) return false;
    into.insert(into.end(), samples->begin(), samples->end());
    return true;
  }

  const TakeSamples& take_;
  bool dropped_ = false;
  double cost_s_ = 0;  // of a sample, as it was last
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
    return ratios[static_cast<std::size_t>(std::lround(share * (kBootstrapRounds - 1)))];
  };
  return {at(0.025), at(0.975)};
}

Result<std::optional<RoundSamples>> measure_rounds(const RoundPolicy& policy, const Sides& sides) {
  Side stream(sides.stream), graph(sides.graph), baseline(sides.baseline);
  for (Side* side : {&stream, &graph, &baseline}) {
    KP_ASSIGN(bool went, side->warm_up());
    if (!went) return std::optional<RoundSamples>();
  }
  RoundSamples samples;
  Stopwatch watch;
  while (samples.rounds < policy.max_rounds) {
    double share = stream.on() && graph.on() ? 0.5 : 1;
    // A/B, then B/A: a drift within a round does not favour the one that comes second.
    bool ahead = samples.rounds % 2 == 0;
    if (!ahead) {
      KP_ASSIGN(bool went, baseline.round(policy, 1, samples.baseline));
      if (!went) return std::optional<RoundSamples>();
    }
    for (auto [side, into] : {std::pair{&stream, &samples.stream}, {&graph, &samples.graph}}) {
      KP_ASSIGN(bool went, side->round(policy, share, *into));
      if (!went) return std::optional<RoundSamples>();
    }
    if (ahead) {
      KP_ASSIGN(bool went, baseline.round(policy, 1, samples.baseline));
      if (!went) return std::optional<RoundSamples>();
    }
    ++samples.rounds;
    if (samples.rounds == 2 && stream.on() && graph.on())
      (median(samples.stream) <= median(samples.graph) ? graph : stream).drop();
    if (samples.rounds < policy.min_rounds) continue;
    if (watch.seconds() >= policy.budget_s * (baseline.on() ? 2 : 1) ||
        narrow(policy, samples, baseline.on()))
      break;
  }
  return std::optional<RoundSamples>(std::move(samples));
}

}  // namespace kp
