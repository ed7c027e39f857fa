#pragma once
// Bounds of a gain that several tools share, and the place of an instruction.
#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "findings/tool.h"

namespace kp {

// GB/s that DRAM can give, and where the number comes from.
struct DramCeiling {
  double gbs = 0;        // 0: unknown
  bool measured = true;  // on this device, else 89 % of the data sheet's peak
};

// The device's own measured ceiling; without one 89 % of the peak that the counters imply (achieved
// over percent of peak), since no copy reaches the peak.
DramCeiling dram_ceiling(const ToolInput& input);

// Ceiling over achieved, at least 1; 1 when the ceiling is not known.
double dram_headroom(const ToolInput& input);

// How much faster a kernel gets at most when its latency is hidden and its work stays: until its
// busiest unit is at its peak (Nsight Compute bounds its estimates the same way), or DRAM at its
// measured ceiling. Needs sm_throughput_pct and memory_throughput_pct.
double latency_headroom(const ToolInput& input);

// Share of a warp's time between two instructions that it spends on these stalls, 0 to 1; nothing
// when warp_cycles_per_issue is missing. A stall that is missing counts as none.
std::optional<double> stall_share(const ToolInput& input, std::initializer_list<Metric> stalls);

// How much faster the kernel gets at most when `fraction` (0 to 1) of its global sectors go away:
// - DRAM at 60 % of its ceiling or more: bytes that DRAM moves now over bytes of the sectors that
//   stay, 1 when DRAM moves no more than those;
// - else L1 or L2 at 60 % of its peak or more: all sectors over those that stay;
// - else Amdahl on the share of the stalls on memory.
// Nothing when what that needs is missing. Says in `model` which one it is.
std::optional<double> gain_of_fewer_sectors(const ToolInput& input, double fraction,
                                            std::string& model);

// The instruction of this base opcode that counts most (weight_of); null when there is none.
const SassInstruction* hottest(const SassSummary& sass,
                               std::initializer_list<std::string_view> opcodes);

// Share of the function's instructions, as weight_of counts them, that `is` picks, 0 to 1.
template <typename Pick>
double weight_share(const SassSummary& sass, Pick is) {
  double picked = 0;
  double all = 0;
  for (const SassInstruction& instruction : sass.code) {
    double weight = weight_of(sass, instruction);
    all += weight;
    if (is(instruction)) picked += weight;
  }
  return all > 0 ? picked / all : 0;
}

// high from a gain of 1.5 on, medium from 1.1 on, else low.
Severity severity_by_gain(double gain);

// Amdahl within the kernel: `fraction` of its time goes away.
double gain_without(double fraction);

// "0x00d0 LDG.E.CONSTANT R2, desc[UR4][R2.64]" and its source line.
Place place_of(const KernelProfile& kernel, const SassInstruction* instruction);

}  // namespace kp
