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
Result<ProposalText> read_reply(std::string_view reply);

}  // namespace kp
