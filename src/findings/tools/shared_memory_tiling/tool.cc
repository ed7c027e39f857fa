#include <algorithm>

#include "findings/tools/bounds.h"
#include "findings/tools/tools.h"

namespace kp {
namespace {

// Sources of the thresholds: tool.md.
constexpr double kBusy = 60;             // % of a cache's peak
constexpr double kHit = 50;              // % of L1's look-ups: the bytes were fetched before
constexpr double kRefetched = 4;         // times that a byte is fetched
constexpr double kGoodPipe = 80;         // % of the arithmetic pipe
constexpr double kMostGain = 8;          // tiling alone rarely gives more
constexpr double kSharedSectors = 0.10;  // shared accesses over global ones: a tile is in use

bool uses_shared_memory(const KernelProfile& kernel) {
  if (kernel.sass && (!kernel.sass->shared_load_widths.empty() || kernel.sass->async_copies > 0)) {
    return true;
  }
  return kernel.get(Metric::static_smem_bytes).value_or(0) +
             kernel.get(Metric::dynamic_smem_bytes).value_or(0) >
         0;
}

// Shared memory is there, but most of the bytes still come straight from global memory.
bool tiles_little(const KernelProfile& kernel) {
  auto shared = kernel.get(Metric::shared_load_requests);
  auto global = kernel.get(Metric::global_load_requests);
  return shared && global && *global > 0 && *shared < kSharedSectors * *global;
}

// Bytes asked of L1 over bytes that had to come: from DRAM, or what the task needs if that is more
// (L2 may hold the inputs already). 0 when not known.
double refetched(const ToolInput& input) {
  double asked = input.kernel.get(Metric::global_load_sectors).value_or(0) * 32;
  double once = input.kernel.get(Metric::dram_bytes_read).value_or(0);
  if (input.profile.work) once = std::max(once, input.profile.work->bytes);
  return asked > 0 && once > 0 ? asked / once : 0;
}

double busiest_pipe(const KernelProfile& kernel) {
  double busiest = 0;
  for (Metric pipe : {Metric::fp32_pipe_pct, Metric::fp64_pipe_pct, Metric::alu_pipe_pct,
                      Metric::xu_pipe_pct, Metric::tensor_pipe_pct}) {
    busiest = std::max(busiest, kernel.get(pipe).value_or(0));
  }
  return busiest;
}

std::vector<Finding> run(const ToolInput& input) {
  double l1 = *input.kernel.get(Metric::l1_throughput_pct);
  double hit = *input.kernel.get(Metric::l1_hit_pct);
  double l2 = *input.kernel.get(Metric::l2_throughput_pct);
  double dram = *input.kernel.get(Metric::dram_throughput_pct);
  bool again_from_l1 = l1 >= kBusy && l1 > l2 && hit >= kHit;
  double times = refetched(input);
  bool again_from_l2 = !again_from_l1 && l2 >= kBusy && l2 > dram && times >= kRefetched;
  bool shared = uses_shared_memory(input.kernel);
  if (dram >= kBusy || (!again_from_l1 && !again_from_l2)) return {};
  if ((shared && !tiles_little(input.kernel)) || (times > 0 && times < kRefetched)) return {};

  Finding finding;
  finding.cause = again_from_l1 ? "again_from_l1" : "again_from_l2";
  finding.place = place_of(
      input.kernel, input.kernel.sass ? hottest(*input.kernel.sass, {"LDG", "LD"}) : nullptr);
  finding.numbers = {{"l1_throughput_pct", l1},
                     {"l1_hit_pct", hit},
                     {"l2_throughput_pct", l2},
                     {"dram_throughput_pct", dram}};
  if (times > 0) finding.numbers["refetched_x"] = times;
  double pipe = busiest_pipe(input.kernel);
  double gain = kMostGain;
  if (pipe > 0) {
    finding.numbers["busiest_pipe_pct"] = pipe;
    gain = std::min(gain, kGoodPipe / pipe);
    finding.gain_model =
        "80 % over the busiest arithmetic pipe's present use, DRAM at its ceiling, 8x at most";
  } else {
    if (again_from_l1) gain = std::min(gain, 100 / std::max(1.0, 100 - hit));
    if (auto issue = input.kernel.get(Metric::issue_active_pct)) {
      gain = std::min(gain, 100 / std::max(1.0, *issue));
    }
    finding.gain_model =
        "until every issue slot is used and nothing is fetched twice (the pipes were not "
        "measured), "
        "8x at most";
  }
  if (times > 0) gain = std::min(gain, times);
  gain = std::min(gain, dram > 0 ? 100 / dram : gain);
  if (gain < 1.05) return {};
  finding.predicted_gain = gain;
  finding.severity = severity_by_gain(gain);
  finding.confidence = times > 0 ? 0.6 : 0.4;
  return {finding};
}

}  // namespace

Tool shared_memory_tiling_tool() {
  return {.name = "shared_memory_tiling",
          .says = "Finds kernels that fetch the same bytes from a cache again and again.",
          .classes = {BoundClass::memory, BoundClass::compute},
          .needs = {Metric::l1_throughput_pct, Metric::l1_hit_pct, Metric::l2_throughput_pct,
                    Metric::dram_throughput_pct},
          .needs_sass = false,
          .run = run,
          .also_reads = {Metric::global_load_sectors, Metric::global_load_requests,
                         Metric::shared_load_requests, Metric::dram_bytes_read,
                         Metric::static_smem_bytes, Metric::dynamic_smem_bytes,
                         Metric::fp32_pipe_pct, Metric::fp64_pipe_pct, Metric::alu_pipe_pct,
                         Metric::xu_pipe_pct, Metric::tensor_pipe_pct, Metric::issue_active_pct}};
}

}  // namespace kp
