#pragma once
// Is one candidate faster than another? Only what noise does not explain counts. Pure functions.
#include <optional>

#include "verdict/verdict.h"

namespace kp {

struct Gain {
  double ratio = 1;   // time before over time now
  Interval ci95;      // conservative: the two intervals' ends against each other
  bool real = false;  // worth announcing
};

// Two runs of one kernel differ by more than their samples' spread says (where its memory came to
// lie, the clocks of that second), so the interval alone is not enough: below this nothing is
// announced.
inline constexpr double kLeastGain = 0.01;

// Compares by speed-up over the baseline that each was interleaved with, where both have the same
// one, else by time. nullopt when one was not timed.
std::optional<Gain> gain(const Verdict& before, const Verdict& now);

}  // namespace kp
