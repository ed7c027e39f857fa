#pragma once
// What gives a PyTorch module away, as pure functions of what was measured outside its process.
// docs/security.md lists the rules; their names stand in verdicts.
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace kp {

// One timed call.
struct ModuleSample {
  double claimed_ms = 0;  // what the process says that forward() took
  double wall_ms = 0;     // from the request to the answer, by our clock
  bool fresh = false;     // inputs that the process had never seen before
};

// What the same call costs with a stand-in for forward() that does nothing, before any candidate
// was loaded: the way there and back, the flush, the copy of the outputs and their digest.
struct ModuleOverhead {
  double median_ms = 0;
  double mad_ms = 0;
};
ModuleOverhead overhead_of(const std::vector<double>& wall_ms);

struct ModuleClock {
  double claimed_ms = 0;    // median
  double outside_ms = 0;    // median of wall less the overhead
  double tolerance_ms = 0;  // by how much the second may be longer
};
// What the clock outside cannot tell: a wake-up of the process, the launch of the flush.
constexpr double kClockFloorMs = 0.03;
ModuleClock compare_clocks(const std::vector<ModuleSample>& samples, const ModuleOverhead& overhead,
                           double floor_ms = kClockFloorMs);

// Each gives the evidence when the rule is broken.
std::optional<std::string> clock_evidence(const ModuleClock& clock);
// Inputs seen before are answered faster than new ones.
std::optional<std::string> memory_evidence(const std::vector<ModuleSample>& samples);
// `busy`: shares of time in which the GPU was kept from us while no call was under way.
std::optional<std::string> busy_evidence(const std::vector<double>& busy);

// Whether the source holds kernels of its own (CUDA or Triton).
bool promises_kernels(std::string_view source);
// Those of the launched kernels (a JSON object of name and count) that the source defines.
std::vector<std::string> own_kernels(std::string_view source, const Json& launched);

}  // namespace kp
