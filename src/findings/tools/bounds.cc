#include "findings/tools/bounds.h"

#include <fmt/format.h>

namespace kp {
namespace {

// Of the data sheet's peak, what a large copy reaches: 4.28 of 4.8 TB/s on an H200.
constexpr double kCopyOfPeak = 0.89;

}  // namespace

DramCeiling dram_ceiling(const ToolInput& input) {
  if (input.profile.ceilings && input.profile.ceilings->dram_gbs > 0) {
    return {input.profile.ceilings->dram_gbs, true};
  }
  double gbs = input.kernel.get(Metric::dram_gbs).value_or(0);
  double pct = input.kernel.get(Metric::dram_throughput_pct).value_or(0);
  return {pct > 0 ? kCopyOfPeak * gbs / (pct / 100) : 0, false};
}

double dram_headroom(const ToolInput& input) {
  double ceiling = dram_ceiling(input).gbs;
  double achieved = input.kernel.get(Metric::dram_gbs).value_or(0);
  return achieved > 0 ? std::max(1.0, ceiling / achieved) : 1;
}

double latency_headroom(const ToolInput& input) {
  double busiest = std::max(input.kernel.get(Metric::sm_throughput_pct).value_or(0),
                            input.kernel.get(Metric::memory_throughput_pct).value_or(0));
  double headroom = busiest > 0 ? std::max(1.0, 100 / busiest) : 1;
  if (input.kernel.get(Metric::dram_gbs).value_or(0) > 0 && dram_ceiling(input).gbs > 0) {
    headroom = std::min(headroom, dram_headroom(input));
  }
  return headroom;
}

double gain_without(double fraction) {
  KP_CHECK(fraction >= 0 && fraction < 1);
  return 1 / (1 - fraction);
}

Place place_of(const KernelProfile& kernel, const SassInstruction* instruction) {
  Place place;
  place.kernel = kernel.kernel;
  if (instruction == nullptr) return place;
  place.line = instruction->line;
  place.sass = fmt::format("0x{:04x} {}{}{}", instruction->address, instruction->opcode,
                           instruction->operands.empty() ? "" : " ", instruction->operands);
  return place;
}

}  // namespace kp
