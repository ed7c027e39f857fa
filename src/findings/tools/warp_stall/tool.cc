#include <algorithm>
#include <array>

#include "findings/tools/bounds.h"
#include "findings/tools/tools.h"

namespace kp {
namespace {

// Sources of the thresholds: tool.md.
constexpr double kStallShare = 0.30;  // of the warp-cycles for each issued instruction
constexpr double kIssueBusy = 80;     // % of the issue slots used
constexpr double kUnitBusy = 60;      // % of peak: L1 is what the loads wait for
constexpr double kLeastGain = 1.01;
constexpr double kMostShare = 0.95;  // of the stall's share that can go: keeps the model finite

struct Reason {
  Metric metric;
  const char* cause;
  // The remedy takes work away from the unit that is waited for, so that unit's present load is no
  // bound of the gain.
  bool less_work;
};
constexpr std::array<Reason, 16> kReasons = {{
    {Metric::stall_long_scoreboard, "long_scoreboard", false},
    {Metric::stall_short_scoreboard, "short_scoreboard", true},
    {Metric::stall_barrier, "barrier", false},
    {Metric::stall_math_pipe, "math_pipe", true},
    {Metric::stall_wait, "wait", false},
    {Metric::stall_mio_throttle, "mio_throttle", true},
    {Metric::stall_lg_throttle, "lg_throttle", true},
    {Metric::stall_tex_throttle, "tex_throttle", true},
    {Metric::stall_drain, "drain", false},
    {Metric::stall_branch, "branch", false},
    {Metric::stall_not_selected, "not_selected", false},
    {Metric::stall_no_instruction, "no_instruction", false},
    {Metric::stall_imc_miss, "imc_miss", false},
    {Metric::stall_membar, "membar", false},
    {Metric::stall_sleeping, "sleeping", false},
    {Metric::stall_dispatch, "dispatch", true},
}};
// Only where warpgroup instructions exist (compute capability 9.0 and later).
constexpr Reason kGmma = {Metric::stall_gmma, "gmma", false};

// Loads wait for L1's own throughput, not for the memory behind it.
bool l1_is_busiest(const ToolInput& input) {
  double l1 = input.kernel.get(Metric::l1_throughput_pct).value_or(0);
  return l1 >= kUnitBusy && l1 > input.kernel.get(Metric::l2_throughput_pct).value_or(0) &&
         l1 > input.kernel.get(Metric::dram_throughput_pct).value_or(0);
}

std::vector<Finding> run(const ToolInput& input) {
  double cycles = *input.kernel.get(Metric::warp_cycles_per_issue);
  double issue = *input.kernel.get(Metric::issue_active_pct);
  if (issue >= kIssueBusy || issue <= 0 || cycles <= 0) return {};

  std::vector<Finding> findings;
  auto judge = [&](Reason reason) {
    double stall = input.kernel.get(reason.metric).value_or(0);
    double share = stall / cycles;
    if (share < kStallShare) return;
    if (reason.metric == Metric::stall_long_scoreboard && l1_is_busiest(input)) {
      reason.cause = "long_scoreboard_l1_busy";
      reason.less_work = true;
    }
    double gain = std::min(gain_without(std::min(share, kMostShare)), 100 / issue);
    if (!reason.less_work) gain = std::min(gain, latency_headroom(input));
    if (gain < kLeastGain) return;

    Finding finding;
    finding.cause = reason.cause;
    finding.place = place_of(input.kernel, nullptr);
    finding.numbers = {{"stall_cycles", stall},
                       {"stall_pct", share * 100},
                       {"cycles_per_issue", cycles},
                       {"issue_active_pct", issue}};
    for (Metric extra : {Metric::eligible_warps, Metric::l1_hit_pct, Metric::l1_throughput_pct}) {
      if (auto value = input.kernel.get(extra)) {
        finding.numbers[std::string(info_of(extra).name)] = *value;
      }
    }
    finding.predicted_gain = gain;
    finding.gain_model = reason.less_work
                             ? "Amdahl on the stall's share, until every issue slot is used"
                             : "Amdahl on the stall's share, until every issue slot is used or the "
                               "busiest unit is at its peak";
    finding.severity = share >= 0.6 && gain >= 1.2 ? Severity::high : Severity::medium;
    if (gain < 1.1) finding.severity = Severity::low;
    finding.confidence = 0.4;
    findings.push_back(finding);
  };
  for (const Reason& reason : kReasons) judge(reason);
  judge(kGmma);
  return findings;
}

std::vector<Metric> needs() {
  std::vector<Metric> metrics = {Metric::warp_cycles_per_issue, Metric::issue_active_pct,
                                 Metric::sm_throughput_pct, Metric::memory_throughput_pct};
  for (const Reason& reason : kReasons) metrics.push_back(reason.metric);
  return metrics;
}

}  // namespace

Tool warp_stall_tool() {
  return {.name = "warp_stall",
          .says = "Names the reasons for which warps wait most, each with its own remedy.",
          .classes = {BoundClass::latency},
          .needs = needs(),
          .needs_sass = false,
          .run = run,
          .also_reads = {Metric::dram_throughput_pct, Metric::l1_throughput_pct,
                         Metric::l2_throughput_pct}};
}

}  // namespace kp
