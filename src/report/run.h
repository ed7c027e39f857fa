#pragma once
// The report of a search: what was found, how, and what it cost.
#include <string>

#include "search/run_folder.h"
#include "search/state.h"

namespace kp {

std::string describe_run(const RunState& state, const RunFolder& folder);
Json report_json(const RunState& state, const RunFolder& folder);

}  // namespace kp
