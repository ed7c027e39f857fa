#pragma once
// What the loop sees of the world. The real one (app/) stands over Evaluator, the profiler and a
// provider; tests have one without a GPU.
#include <string_view>
#include <vector>

#include "candidate/candidate.h"
#include "directives/directive.h"
#include "findings/tool.h"
#include "llm/provider.h"
#include "profile/profile.h"
#include "search/tree.h"
#include "verdict/verdict.h"

namespace kp {

struct RunState;

// What is known of a correct candidate beyond its time.
struct Diagnosis {
  Profile profile;
  Findings findings;
  std::vector<Directive> directives;
};

class World {
 public:
  virtual ~World() = default;

  virtual const Task& task() = 0;
  virtual const DeviceInfo& device() = 0;
  virtual const Ceilings* ceilings() = 0;  // null when they were not measured
  // The benchmarking agent's answer for the task; speed_of_light_ms is 0 when unknown.
  virtual const Roofline& roofline() = 0;
  virtual bool cutlass() = 0;  // candidates may include CuTe
  virtual Provider& provider() = 0;

  // Both block. Error only when the environment fails: it is tried once more, then the run stops
  // cleanly. `verdict` is as read from the journal, so its build may be missing: build again (the
  // cache has it).
  virtual Result<Verdict> evaluate(const Candidate& candidate) = 0;
  virtual Result<Diagnosis> diagnose(const Candidate& candidate, const Verdict& verdict) = 0;

  // A candidate that evaluate() will be given soon: its build may start.
  virtual void expect(const Candidate& /*candidate*/) {}

  // For progress on a terminal; the events are in the journal by then.
  virtual void on_judged(const RunState& /*state*/, NodeId /*node*/) {}
  virtual void on_step(std::string_view /*what*/) {
  }  // "asking for proposal 0003", before it starts
};

}  // namespace kp
