#pragma once
// From a plan to the prompt that asks for it.
#include "search/events.h"
#include "search/world.h"

namespace kp {

// The prompt of a planned proposal: a function of the state and of what the world says of the task
// and the device.
Prompt prompt_for(const RunState& state, World& world, const ProposalPlan& plan);

// Earlier nodes that matter for a child of `parent`: those on the way to it, its children, the best
// of the run, and, for the root, all seeds. Oldest first, at most `at_most`, the newest kept.
std::vector<Attempt> attempts_for(const RunState& state, NodeId parent, int at_most);

// "1.42x, correct" or "incorrect: y[3, 5] is 0, expected 1.5".
std::string result_line(const Node& node, const NodeRecord& record);

}  // namespace kp
