#pragma once
// Prompt: what a model is given, within a token budget.
#include <optional>
#include <string>
#include <vector>

#include "directives/directive.h"
#include "verdict/verdict.h"

namespace kp {

enum class Act { seed, improve, repair };
std::string_view name_of(Act act);

// One earlier attempt of this run, for "what was tried and what it gave".
struct Attempt {
  std::string candidate;  // id
  std::string idea;       // the model's own line of what it changed
  std::string result;     // "1.42x, correct" or "incorrect: y[3,5] is 0, expected 1.5"
};

struct PromptInput {
  Act act = Act::seed;
  const Task* task = nullptr;
  const DeviceInfo* device = nullptr;
  const Ceilings* ceilings = nullptr;  // may be null
  const Roofline* roofline = nullptr;  // may be null
  const Candidate* parent = nullptr;   // improve, repair
  const Verdict* verdict = nullptr;    // the parent's
  std::vector<Directive> directives;   // improve
  int follow = 0;                      // index of the one that this child should follow first
  std::vector<Attempt> attempts;       // newest last
  std::string variation;               // seed: a strategy to start from, so that seeds differ
  bool cutlass = false;                // CuTe headers are there
  double temperature = 0.7;
};

struct Prompt {
  Act act = Act::seed;
  std::string system;
  std::string user;
  double temperature = 0.7;
  int estimated_tokens = 0;      // characters / 3.5, rounded up
  std::vector<std::string> cut;  // what the budget took away, in words
};

// Cut first to last: oldest attempts, lower-ranked directives (never the one to follow), details of
// the verdict. Never the task, the contract or the parent's source: what is still over the budget
// then is said in `cut`. A budget of 0 or less is none.
//
// Needs task; improve and repair need parent and verdict. The system part depends on `cutlass`
// alone, so that servers can keep it between calls.
Prompt make_prompt(const PromptInput& input, int token_budget);

// Strategies for seeds, most general first (assets/prompts/variations.md).
std::vector<std::string> seed_variations();

Json to_json(const Prompt& prompt);

}  // namespace kp
