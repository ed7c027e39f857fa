#include "findings/tools/tools.h"

namespace kp {

const std::vector<Tool>& all_tools() {
  static const std::vector<Tool> tools = {
      async_copy_tool(),            //
      bank_conflicts_tool(),        //
      barrier_stall_tool(),         //
      branch_divergence_tool(),     //
      high_dram_throughput_tool(),  //
      high_register_usage_tool(),   //
      instruction_mix_tool(),       //
      launch_overhead_tool(),       //
      memory_coalescing_tool(),     //
      occupancy_limiter_tool(),     //
      register_spill_tool(),        //
      shared_memory_tiling_tool(),  //
      tail_effect_tool(),           //
      tensor_core_tool(),           //
      uncoalesced_access_tool(),    //
      vectorization_tool(),         //
      warp_stall_tool(),            //
  };
  return tools;
}

}  // namespace kp
