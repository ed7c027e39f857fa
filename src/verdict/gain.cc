#include "verdict/gain.h"

namespace kp {

namespace {

// How fast a candidate is, with its interval: larger is faster.
struct Speed {
  double value = 0;
  Interval ci;
};

std::optional<Speed> relative_speed(const Verdict& v) {
  auto speedup = v.speedup();
  if (!speedup || !v.speedup_ci95) return std::nullopt;
  return Speed{*speedup, *v.speedup_ci95};
}

std::optional<Speed> speed(const Verdict& v) {
  if (!v.timing || v.timing->median_ms <= 0 || v.timing->ci95_ms.low <= 0) return std::nullopt;
  return Speed{1 / v.timing->median_ms, {1 / v.timing->ci95_ms.high, 1 / v.timing->ci95_ms.low}};
}

}  // namespace

std::optional<Gain> gain(const Verdict& before, const Verdict& now) {
  if (!before.correct() || !now.correct()) return std::nullopt;
  auto a = relative_speed(before);
  auto b = relative_speed(now);
  if (!a || !b || before.baselines.front().name != now.baselines.front().name) {
    a = speed(before);
    b = speed(now);
  }
  if (!a || !b || a->value <= 0 || a->ci.low <= 0) return std::nullopt;
  Gain g;
  g.ratio = b->value / a->value;
  g.ci95 = {b->ci.low / a->ci.high, b->ci.high / a->ci.low};
  g.real = g.ci95.low > 1 && g.ratio >= 1 + kLeastGain;
  return g;
}

}  // namespace kp
