#pragma once
// Finding: what a tool saw, in numbers. Words are made of it in directives/.
#include <map>
#include <string>
#include <vector>

#include "profile/profile.h"

namespace kp {

enum class Severity { low, medium, high };
std::string_view name_of(Severity severity);

struct Place {
  std::string kernel;
  int line = 0;      // in the candidate's source; 0 when unknown
  std::string sass;  // "0x0150 LDG.E R4" or empty
};

struct Finding {
  std::string tool;   // "vectorization"
  std::string cause;  // the case within the tool: "narrow_loads"; directives have a text for each
  Severity severity = Severity::medium;
  Place place;
  std::map<std::string, double> numbers;     // evidence by name, units in the name: "dram_pct"
  std::map<std::string, std::string> words;  // evidence that is no number: "limiter" -> "registers"
  double predicted_gain = 1;                 // time now over time after, >= 1, bounded by `bound`
  std::string gain_model;                    // how it was computed, one sentence
  double confidence = 0.5;                   // 0 to 1
};

Json to_json(const Finding& finding);
Result<Finding> finding_from_json(const Json& json);

}  // namespace kp
