#pragma once
// The timing stage of an evaluation: interleaved with the baseline, every timed run checked.
#include "verdict/judge.h"

namespace kp {

// What the evaluation does with what the runner says.
struct TimeHooks {
  std::function<bool(const Json& body)> clean;                  // false: it recorded a fault
  std::function<Result<Comparison>(const Json& body)> compare;  // outputs of the last timed run
  std::function<void(const RunnerAnswer&)> broke;               // records a fault
  std::function<void(Outcome, std::string reason, std::string detail)> fault;
};

// Fills timing, timings, baselines, interval, conditions and energy; or records a fault through the
// hooks. The candidate is loaded, on the inputs of `own`, and its last run was found right.
Status time_candidate(const Bench& bench, const Trial& own, Verdict& verdict,
                      const TimeHooks& hooks);

// The least time in ms in which any kernel can write `output_bytes`: what the L2 cannot hold must
// reach DRAM at the data sheet's rate. 0 when the device's rate is unknown.
double write_floor_ms(double output_bytes, const DeviceInfo& device);

// Whether runs on kept memory are faster than runs on fresh memory by more than noise explains.
bool gains_from_kept(const std::vector<double>& fresh_ms, const std::vector<double>& kept_ms);

// Mean energy of a call over windows, with a 95 % interval (Student's t).
Energy energy_of(const Json& body);

}  // namespace kp
