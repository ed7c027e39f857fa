#pragma once
// Whether a native task's draws can tell a right output from an empty one. assets/oracle/fitness.py
// holds the same rule for PyTorch tasks.
#include <map>
#include <string>
#include <vector>

#include "task/task.h"
#include "verdict/verdict.h"

namespace kp {

// One draw of a task, on the host.
struct DrawnValues {
  std::map<std::string, std::vector<double>> inputs;  // those of role input
  std::map<std::string, std::vector<double>> truth;   // outputs
  std::map<std::string, LeafError> eager;             // the reference's own error
};

// The answers that ask for no work and pass for every output of the draw: "zeros", "ones", "the
// mean", "the first input".
std::vector<std::string> trivial_answers(const Task& task, const DrawnValues& draw);

// Whether `other`'s truth would pass for every output of `draw`.
bool passes_for(const Task& task, const DrawnValues& draw, const DrawnValues& other);

struct Fitness {
  std::vector<std::string> reasons;  // for which the task is unfit; empty: it is fit
  std::vector<std::string> notes;
};
// Over all draws: an answer that passes each of them makes a task unfit, one that passes some is
// told. `trivial`: of each draw, `names` its variant. `independent`: the outputs of one draw pass
// for all others.
Fitness judge_fitness(const std::vector<std::vector<std::string>>& trivial,
                      const std::vector<std::string>& names, bool independent);

}  // namespace kp
