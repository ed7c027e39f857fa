#include "findings/tools/bounds.h"

#include <fmt/format.h>

#include "profile/sass_loops.h"

namespace kp {
namespace {

// Of the data sheet's peak, what a large copy reaches: 4.28 of 4.8 TB/s on an H200.
constexpr double kCopyOfPeak = 0.89;
constexpr double kDramBusy = 0.60;   // of its ceiling
constexpr double kCacheBusy = 60;    // % of peak; Nsight Compute's speed-of-light rules, busy
constexpr double kMostStalls = 0.9;  // of a warp's time that can go: keeps Amdahl finite

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

std::optional<double> stall_share(const ToolInput& input, std::initializer_list<Metric> stalls) {
  double cycles = input.kernel.get(Metric::warp_cycles_per_issue).value_or(0);
  if (cycles <= 0) return std::nullopt;
  double sum = 0;
  for (Metric stall : stalls) sum += input.kernel.get(stall).value_or(0);
  return std::min(1.0, sum / cycles);
}

std::optional<double> gain_of_fewer_sectors(const ToolInput& input, double fraction,
                                            std::string& model) {
  auto value = [&](Metric metric) { return input.kernel.get(metric).value_or(0); };
  fraction = std::clamp(fraction, 0.0, 0.97);  // one sector of 32 stays
  double sectors = value(Metric::global_load_sectors) + value(Metric::global_store_sectors);
  double moved = value(Metric::dram_bytes_read) + value(Metric::dram_bytes_write);
  double ceiling = dram_ceiling(input).gbs;
  if (ceiling > 0 && value(Metric::dram_gbs) >= kDramBusy * ceiling && moved > 0 && sectors > 0) {
    model = "bytes that DRAM moves now over the bytes of the sectors that stay";
    return std::max(1.0, moved / (32 * sectors * (1 - fraction)));
  }
  if (std::max(value(Metric::l1_throughput_pct), value(Metric::l2_throughput_pct)) >= kCacheBusy) {
    model = "sectors now over the sectors that stay, at the same cache throughput";
    return gain_without(fraction);
  }
  auto stalls = stall_share(input, {Metric::stall_long_scoreboard, Metric::stall_lg_throttle});
  if (!stalls) return std::nullopt;
  model = "Amdahl on the share of the wait for memory that the sectors in excess stand for";
  return gain_without(fraction * std::min(kMostStalls, *stalls));
}

const SassInstruction* hottest(const SassSummary& sass,
                               std::initializer_list<std::string_view> opcodes) {
  const SassInstruction* best = nullptr;
  double most = 0;
  for (const SassInstruction& instruction : sass.code) {
    std::string_view op = base_opcode(instruction.opcode);
    if (std::find(opcodes.begin(), opcodes.end(), op) == opcodes.end()) continue;
    double weight = weight_of(sass, instruction);
    if (best == nullptr || weight > most) {
      best = &instruction;
      most = weight;
    }
  }
  return best;
}

Severity severity_by_gain(double gain) {
  return gain >= 1.5 ? Severity::high : gain >= 1.1 ? Severity::medium : Severity::low;
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
