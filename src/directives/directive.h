#pragma once
// Directive: one imperative instruction in plain English, with its evidence.
#include <string>
#include <vector>

#include "findings/tool.h"

namespace kp {

struct Directive {
  std::string id;  // "d1", ... in rank order
  std::string tool;
  std::string cause;
  std::string kernel;
  std::string title;  // "Load 128 bits a thread in relu_kernel"
  std::string text;   // what to do, where, why, by how much at most, what to watch
  double predicted_gain = 1;
  double confidence = 0.5;
};

// Words come from assets/directives/<tool>/<cause>.md (mustache over the finding's numbers). Ranked
// by predicted gain x confidence, cut to `at_most`; two that contradict are reconciled, with the
// reason.
std::vector<Directive> make_directives(const Findings& findings, int at_most);

Json to_json(const Directive& directive);
Result<Directive> directive_from_json(const Json& json);

}  // namespace kp
