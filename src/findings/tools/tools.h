#pragma once
// One function a tool: its record. tools/<name>/tool.md says what it reads, when it fires and where
// each threshold comes from.
#include "findings/tool.h"

namespace kp {

Tool async_copy_tool();
Tool bank_conflicts_tool();
Tool barrier_stall_tool();
Tool branch_divergence_tool();
Tool high_dram_throughput_tool();
Tool high_register_usage_tool();
Tool instruction_mix_tool();
Tool launch_overhead_tool();
Tool memory_coalescing_tool();
Tool occupancy_limiter_tool();
Tool register_spill_tool();
Tool shared_memory_tiling_tool();
Tool tail_effect_tool();
Tool tensor_core_tool();
Tool uncoalesced_access_tool();
Tool vectorization_tool();
Tool warp_stall_tool();

}  // namespace kp
