#include "findings/tools/tools.h"

namespace kp {

const std::vector<Tool>& all_tools() {
  static const std::vector<Tool> tools = {
      high_dram_throughput_tool(),  //
      occupancy_limiter_tool(),     //
      tensor_core_tool(),           //
      vectorization_tool(),         //
      warp_stall_tool(),            //
  };
  return tools;
}

}  // namespace kp
