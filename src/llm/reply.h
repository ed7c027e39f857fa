#pragma once
// Reads a candidate out of a model's reply.
#include <string>

#include "candidate/candidate.h"

namespace kp {

struct ProposalText {
  std::string source;  // a whole candidate file (plan in its comment)
  std::string idea;    // the line that starts with "IDEA:", or the first sentence; may be empty
};

// Takes: one ```cuda/```cu/```cpp/```c++ fence with the plan in a /* plan */ comment, or such a
// fence beside a ```json fence that holds the plan. With several code fences the last complete pair
// wins; text inside <think>...</think> is never read. Error says what is missing, in words that a
// model can act on.
//
// - Fences may be of backticks or tildes and indented; one without a language counts by what it
//   holds. A fence is code when it has a __global__ function; pieces of code without one are prose.
// - A plan in a fence of its own belongs to the code fence just before it, else just after it.
// - A fence that is not closed at the end of the reply means that the reply was cut: an Error, even
//   when an earlier fence is whole, for that one is a draft.
// - Comments and trailing commas in the plan are blanked out in place, so that lines keep their
//   numbers. What the plan says is checked later (parse_candidate).
Result<ProposalText> read_reply(std::string_view reply);

}  // namespace kp
