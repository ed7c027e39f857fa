#include <algorithm>

#include "findings/tools/bounds.h"
#include "findings/tools/tools.h"
#include "profile/sass_loops.h"

namespace kp {
namespace {

// Sources of the thresholds: tool.md.
constexpr double kExcess = 0.25;     // of the direction's wavefronts are in excess
constexpr double kOfAll = 0.10;      // of all shared-memory wavefronts
constexpr double kBusy = 60;         // % of L1's peak: its data stage is what the kernel waits for
constexpr double kMostStalls = 0.9;  // of a warp's time that can go
constexpr double kLeastGain = 1.02;

struct Direction {
  const char* cause;
  std::initializer_list<std::string_view> opcodes;
  Metric wavefronts, requests, conflicts;
};

// Wavefronts that accesses of this width need at least: 32 threads of 32 bits fill one of 128
// bytes.
double ideal_wavefronts(const SassSummary& sass, const Direction& direction) {
  double widest = 0;
  double sum = 0;
  double executed = 0;
  bool known = true;
  for (const SassInstruction& instruction : sass.code) {
    std::string_view op = base_opcode(instruction.opcode);
    if (instruction.predicate == "@!PT" ||
        std::find(direction.opcodes.begin(), direction.opcodes.end(), op) ==
            direction.opcodes.end()) {
      continue;
    }
    double ideal = std::max(1.0, access_bits(instruction.opcode) / 32.0);
    widest = std::max(widest, ideal);
    known = known && instruction.executed >= 0;
    sum += static_cast<double>(instruction.executed) * ideal;
    executed += static_cast<double>(instruction.executed);
  }
  return known && executed > 0 ? sum / executed : widest;
}

// Wavefronts in excess: what the conflict counter says, and with SASS at most what is over the
// ideal (the counter also holds collisions with other traffic).
double excess_of(const ToolInput& input, const Direction& direction) {
  double conflicts = *input.kernel.get(direction.conflicts);
  auto requests = input.kernel.get(direction.requests);
  if (!input.kernel.sass || !requests) return conflicts;
  double ideal = ideal_wavefronts(*input.kernel.sass, direction);
  double over = *input.kernel.get(direction.wavefronts) - *requests * ideal;
  return ideal > 0 ? std::clamp(over, 0.0, conflicts) : conflicts;
}

// Share of the kernel's time that the wavefronts in excess take.
std::optional<double> time_share(const ToolInput& input, double excess, double all) {
  auto value = [&](Metric metric) { return input.kernel.get(metric).value_or(0); };
  if (value(Metric::l1_throughput_pct) >= kBusy) {
    double global = value(Metric::global_load_requests) + value(Metric::global_store_requests);
    return value(Metric::l1_throughput_pct) / 100 * excess / (all + global);
  }
  auto stalls = stall_share(input, {Metric::stall_short_scoreboard, Metric::stall_mio_throttle});
  if (!stalls) return std::nullopt;
  return std::min(kMostStalls, *stalls) * excess / all;
}

std::vector<Finding> run(const ToolInput& input) {
  const Direction directions[] = {{"loads",
                                   {"LDS", "LDSM"},
                                   Metric::shared_load_wavefronts,
                                   Metric::shared_load_requests,
                                   Metric::shared_load_bank_conflicts},
                                  {"stores",
                                   {"STS", "STSM"},
                                   Metric::shared_store_wavefronts,
                                   Metric::shared_store_requests,
                                   Metric::shared_store_bank_conflicts}};
  double all = *input.kernel.get(Metric::shared_load_wavefronts) +
               *input.kernel.get(Metric::shared_store_wavefronts);
  std::vector<Finding> findings;
  for (const Direction& direction : directions) {
    double wavefronts = *input.kernel.get(direction.wavefronts);
    double excess = excess_of(input, direction);
    if (wavefronts <= 0 || excess < kExcess * wavefronts || excess < kOfAll * all) continue;
    auto share = time_share(input, excess, all);
    double gain = share ? gain_without(std::min(*share, 0.95)) : 1;
    if (share && gain < kLeastGain) continue;

    Finding finding;
    finding.cause = direction.cause;
    finding.place = place_of(
        input.kernel, input.kernel.sass ? hottest(*input.kernel.sass, direction.opcodes) : nullptr);
    finding.numbers = {{"wavefronts", wavefronts},
                       {"excess_wavefronts", excess},
                       {"excess_pct", excess / wavefronts * 100},
                       {"ways_x", wavefronts / std::max(1.0, wavefronts - excess)}};
    finding.predicted_gain = gain;
    finding.gain_model =
        share ? "Amdahl on the share of the shared-memory stage, or of the wait for it, that the "
                "wavefronts in excess take"
              : "not known: neither L1's use nor the stalls were measured";
    finding.severity = share ? severity_by_gain(gain) : Severity::medium;
    finding.confidence = input.kernel.sass ? 0.6 : 0.5;
    findings.push_back(finding);
  }
  return findings;
}

}  // namespace

Tool bank_conflicts_tool() {
  return {.name = "bank_conflicts",
          .says =
              "Finds shared-memory accesses that take more turns than their bytes need, because "
              "threads of a warp meet in one bank.",
          .classes = {BoundClass::memory, BoundClass::compute, BoundClass::latency},
          .needs = {Metric::shared_load_wavefronts, Metric::shared_store_wavefronts,
                    Metric::shared_load_bank_conflicts, Metric::shared_store_bank_conflicts},
          .needs_sass = false,
          .run = run,
          .also_reads = {Metric::shared_load_requests, Metric::shared_store_requests,
                         Metric::l1_throughput_pct, Metric::global_load_requests,
                         Metric::global_store_requests, Metric::stall_short_scoreboard,
                         Metric::stall_mio_throttle, Metric::warp_cycles_per_issue}};
}

}  // namespace kp
