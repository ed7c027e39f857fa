#pragma once
// The one vocabulary of metrics: our name, the unit, the meaning, and the Nsight Compute counters
// that give it. No other file of the program knows a counter's name.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kp {

enum class Metric {
  duration_us,
  sm_throughput_pct,      // of peak, compute speed of light
  memory_throughput_pct,  // of peak, memory speed of light
  dram_throughput_pct,
  dram_bytes_read,
  dram_bytes_write,
  dram_gbs,
  l2_throughput_pct,
  l2_hit_pct,
  l2_bytes,
  l1_throughput_pct,
  l1_hit_pct,
  global_load_requests,
  global_load_sectors,
  global_store_requests,
  global_store_sectors,
  global_load_bytes_per_sector,   // that threads asked for, 32 at best
  global_store_bytes_per_sector,  // the same
  shared_load_wavefronts,
  shared_store_wavefronts,
  shared_load_requests,
  shared_store_requests,
  shared_bank_conflicts,
  shared_load_bank_conflicts,
  shared_store_bank_conflicts,
  global_atomic_requests,  // that return a value
  global_atomic_sectors,
  global_reduction_requests,  // that return none
  global_reduction_sectors,
  local_load_sectors,
  local_store_sectors,
  local_spill_requests,
  instructions_executed,
  ipc_active,
  issue_active_pct,
  eligible_warps,
  active_warps_per_scheduler,
  occupancy_achieved_pct,
  occupancy_theoretical_pct,
  occupancy_limit_registers,
  occupancy_limit_shared,
  occupancy_limit_warps,
  occupancy_limit_blocks,
  waves_per_sm,
  registers_per_thread,
  static_smem_bytes,
  dynamic_smem_bytes,
  threads_per_block,
  grid_blocks,
  threads_per_instruction,          // average active threads, 32 at best
  enabled_threads_per_instruction,  // the same without those that a predicate turns off
  uniform_branches_pct,
  fp32_pipe_pct,
  fp64_pipe_pct,
  tensor_pipe_pct,
  alu_pipe_pct,
  lsu_pipe_pct,
  xu_pipe_pct,
  ffma_instructions,
  fadd_instructions,
  fmul_instructions,
  dfma_instructions,
  hmma_instructions,
  gmma_instructions,
  // Warp-cycles spent for each issued instruction, by reason.
  stall_long_scoreboard,
  stall_short_scoreboard,
  stall_barrier,
  stall_math_pipe,
  stall_wait,
  stall_mio_throttle,
  stall_lg_throttle,
  stall_drain,
  stall_branch,
  stall_not_selected,
  stall_selected,
  stall_no_instruction,
  stall_imc_miss,
  stall_membar,
  stall_sleeping,
  stall_dispatch,
  stall_misc,
  stall_tex_throttle,
  stall_gmma,
  warp_cycles_per_issue,  // sum of the above
};

struct MetricInfo {
  Metric metric;
  std::string_view name;     // the enumerator's name, as in JSON: "dram_throughput_pct"
  std::string_view unit;     // "%", "us", "byte", "GB/s", "1" (a count), "warp-cycle"
  std::string_view meaning;  // one sentence
  std::vector<std::string_view> counters;  // ncu's, first that is there wins
  // Names in ncu's details page. One may stand at several metrics ("Memory Throughput" is a share
  // of peak in one section and bytes per second in another): the unit then decides.
  std::vector<std::string_view> displays;
};

const std::vector<MetricInfo>& metric_table();
const MetricInfo& info_of(Metric metric);
std::optional<Metric> metric_named(std::string_view name);
std::optional<Metric> metric_of_counter(std::string_view ncu_counter);
std::vector<Metric> metrics_of_display(std::string_view name);

}  // namespace kp
