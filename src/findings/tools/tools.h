#pragma once
// One function a tool: its record. tools/<name>/tool.md says what it reads, when it fires and where
// each threshold comes from.
#include "findings/tool.h"

namespace kp {

Tool high_dram_throughput_tool();
Tool occupancy_limiter_tool();
Tool tensor_core_tool();
Tool vectorization_tool();
Tool warp_stall_tool();

}  // namespace kp
