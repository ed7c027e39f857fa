#pragma once
// What the run does next: a pure function of its state, so that resume is replay. Chance comes from
// the journalled seed and the number of calls made so far.
#include <string>
#include <variant>
#include <vector>

#include "search/events.h"
#include "search/state.h"

namespace kp {

struct JudgeStart {};
struct JudgeCall {
  std::size_t call = 0;  // index in RunState::calls
};
struct DiagnoseNode {
  NodeId node = kRoot;
};
struct AskFor {
  std::vector<std::size_t> calls;  // independent of each other; those that failed least come first
};
struct DropCall {  // it alone fails: so often as would have ended two sessions
  std::size_t call = 0;
};
using Step =
    std::variant<JudgeStart, JudgeCall, DiagnoseNode, ProposalPlan, AskFor, DropCall, Finished>;

// In order: judge what is there, stop when something failed too often or a budget is used, plan the
// whole batch (the seeds; the candidates of an iteration), ask for it. A node is diagnosed when it
// is first improved upon, not when it is found correct: most correct nodes never are, and a
// diagnosis costs more than a verdict. The best node is diagnosed at the end for the report.
Step next_step(const RunState& state);

// Which directive of `node` the next child should follow: the least followed so far, of those the
// one with the highest calibrated gain x confidence. -1: the node has none.
int choose_directive(const RunState& state, NodeId node);

}  // namespace kp
