#pragma once
// Bounds of a gain that several tools share, and the place of an instruction.
#include <algorithm>
#include <limits>

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

// Amdahl within the kernel: `fraction` of its time goes away.
double gain_without(double fraction);

// "0x00d0 LDG.E.CONSTANT R2, desc[UR4][R2.64]" and its source line.
Place place_of(const KernelProfile& kernel, const SassInstruction* instruction);

}  // namespace kp
