#pragma once
// Candidate: device code and its launch plan. Never host code.
//
// On disk and in replies it is one .cu file whose plan stands in a comment, so that line numbers of
// diagnostics are the file's own:
//
//   /* plan
//   { "steps": [ {"kernel": "k", "grid": ["ceil_div(x_numel, 256)"], "block": [256],
//                 "args": ["x", "y", "i64:x_numel"]} ] }
//   */
//   extern "C" __global__ void k(...) { ... }
#include <string>
#include <string_view>

#include "base/files.h"
#include "candidate/plan.h"

namespace kp {

struct Candidate {
  std::string id;      // first 12 hex digits of the SHA-256 of `source`
  std::string source;  // the whole file, plan comment included
  Plan plan;
  std::string name;  // for messages: the file's path, or "candidate <id>"
};

// Errors say where: "relu.cu: plan, step 1: ...".
Result<Candidate> parse_candidate(std::string_view source, std::string_view name);
Result<Candidate> load_candidate(const fs::path& path);

// One candidate file out of separate device code and plan (as models reply).
std::string join_candidate(std::string_view device_code, std::string_view plan_json);

}  // namespace kp
