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
  int follow = 0;                      // which of them this child should follow first
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

// Cut first to last: oldest attempts, lower-ranked directives, details of the verdict. Never the
// task, the contract or the parent's source.
Prompt make_prompt(const PromptInput& input, int token_budget);

Json to_json(const Prompt& prompt);

}  // namespace kp
