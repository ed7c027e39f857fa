#pragma once
// What a terminal shows of verdicts and profiles. Pure functions to text.
#include <string>
#include <vector>

#include "directives/directive.h"
#include "search/state.h"
#include "verdict/gain.h"
#include "verdict/sanitizer.h"
#include "verdict/verdict.h"

namespace kp {

// Outcome, outputs against the truth, times with their spread, baselines, resources, stages.
// `seconds`: what the evaluation took; 0 leaves it and the stages out.
std::string describe(const Verdict& verdict, double seconds);

// "1.032x (1.021 to 1.044): faster"
std::string describe(const Gain& gain);

// A line a tool, and one a kind of error.
std::string describe(const SanitizerReport& report);

// Roofline, a table of the kernels, the directives, and what the tools could not say.
std::string describe(const Profile& profile, const Findings& findings,
                     const std::vector<Directive>& directives);

// One line a judged proposal: number, act, outcome, time, speed-up, best so far, tokens.
std::string progress_line(const RunState& state, NodeId node);

}  // namespace kp
