#include <algorithm>

#include "findings/tools/bounds.h"
#include "findings/tools/tools.h"
#include "profile/sass_loops.h"

namespace kp {
namespace {

// Sources of the thresholds: tool.md.
constexpr double kStallShare = 0.20;  // of the warp-cycles between two instructions
constexpr double kIssueBusy = 80;     // % of the issue slots used
constexpr double kDense = 0.02;       // of the loop's instructions are barriers
constexpr double kLargeBlock = 512;   // threads
constexpr double kMostShare = 0.9;    // of the stall that can go
constexpr double kLeastGain = 1.02;

bool is_barrier(const SassInstruction& instruction) {
  return base_opcode(instruction.opcode) == "BAR";
}

// Barriers come often, few blocks can fill the wait, or warps do unequal work between two of them.
const char* cause_of(const ToolInput& input, double density) {
  if (density >= kDense) return "often";
  double threads = input.kernel.get(Metric::threads_per_block).value_or(0);
  return threads >= kLargeBlock ? "large_blocks" : "unequal_work";
}

std::vector<Finding> run(const ToolInput& input) {
  auto share = stall_share(input, {Metric::stall_barrier});
  double issue = *input.kernel.get(Metric::issue_active_pct);
  const SassSummary& sass = *input.kernel.sass;
  const SassInstruction* barrier = hottest(sass, {"BAR"});
  if (!share || *share < kStallShare || issue >= kIssueBusy || issue <= 0 || barrier == nullptr) {
    return {};
  }
  double gain = std::min(
      {gain_without(std::min(*share, 1.0) * kMostShare), 100 / issue, latency_headroom(input)});
  if (gain < kLeastGain) return {};

  double density = weight_share(sass, is_barrier);
  Finding finding;
  finding.cause = cause_of(input, density);
  finding.place = place_of(input.kernel, barrier);
  finding.numbers = {{"stall_pct", *share * 100},
                     {"stall_cycles", *input.kernel.get(Metric::stall_barrier)},
                     {"cycles_per_issue", *input.kernel.get(Metric::warp_cycles_per_issue)},
                     {"issue_active_pct", issue},
                     {"barriers_in_code", static_cast<double>(std::count_if(
                                              sass.code.begin(), sass.code.end(), is_barrier))},
                     {"barrier_instruction_pct", density * 100}};
  if (auto threads = input.kernel.get(Metric::threads_per_block)) {
    finding.numbers["threads_per_block"] = *threads;
  }
  finding.predicted_gain = gain;
  finding.gain_model =
      "Amdahl on nine tenths of the wait at barriers, until every issue slot is used or the "
      "busiest "
      "unit is at its peak";
  finding.severity = severity_by_gain(gain);
  finding.confidence = 0.5;
  return {finding};
}

}  // namespace

Tool barrier_stall_tool() {
  return {.name = "barrier_stall",
          .says = "Finds warps that wait for each other at block barriers, and says why.",
          .classes = {BoundClass::latency},
          .needs = {Metric::stall_barrier, Metric::warp_cycles_per_issue, Metric::issue_active_pct,
                    Metric::sm_throughput_pct, Metric::memory_throughput_pct},
          .needs_sass = true,
          .run = run,
          .also_reads = {Metric::threads_per_block, Metric::dram_gbs, Metric::dram_throughput_pct}};
}

}  // namespace kp
