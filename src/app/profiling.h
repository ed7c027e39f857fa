#pragma once
// One candidate, from launch to directives: counters, SASS, roofline, tools.
#include "build/toolkit.h"
#include "directives/directive.h"
#include "verdict/evaluate.h"
#include "verdict/sanitizer.h"

namespace kp {

// The device's ceilings from the cache (cache_folder()/ceilings), measured when they are not there
// for this device and driver.
Result<Ceilings> device_ceilings(Runner& runner);

// Profile of a candidate on the first seed's inputs, with everything that could be read; what could
// not is in its notes.
Result<Profile> profile_candidate(Evaluator& evaluator, const Toolkit& toolkit,
                                  const Ceilings& ceilings, const Candidate& candidate,
                                  const Build& build);

// The file of `kernelpro worker --once`: a candidate on the first seed's inputs.
Result<Json> once_request(Evaluator& evaluator, const Candidate& candidate, const Build& build);

// compute-sanitizer over one run of a candidate; `timeout_s` is each tool's.
Result<SanitizerReport> sanitize_candidate(Evaluator& evaluator, const Toolkit& toolkit,
                                           const Candidate& candidate, const Build& build,
                                           double timeout_s);

// A finding for each kind of error at each place.
std::vector<Finding> findings_of(const SanitizerReport& report);

// The union of what the tools need.
std::vector<Metric> metrics_of(const std::vector<Tool>& tools);

}  // namespace kp
