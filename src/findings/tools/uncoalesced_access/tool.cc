#include <algorithm>

#include "findings/tools/bounds.h"
#include "findings/tools/tools.h"
#include "profile/sass_loops.h"

namespace kp {
namespace {

// Sources of the thresholds: tool.md.
constexpr double kExcess = 1.5;       // sectors a request over the ideal of the access width
constexpr double kLeastShare = 0.10;  // of the kernel's global sectors are in excess
constexpr double kLeastGain = 1.02;

struct Direction {
  const char* cause;
  std::initializer_list<std::string_view> opcodes;
  double requests = 0;
  double sectors = 0;
};

// 32 threads of `bits` each, side by side, touch bits / 8 sectors of 32 bytes. Of several widths
// the mean by executions where these are known, else the widest: no excess is claimed that may be
// none.
double ideal_sectors(const SassSummary& sass, const Direction& direction) {
  double widest = 0;
  double sum = 0;
  double executed = 0;
  bool known = true;
  for (const SassInstruction& instruction : sass.code) {
    std::string_view op = base_opcode(instruction.opcode);
    if (std::find(direction.opcodes.begin(), direction.opcodes.end(), op) ==
        direction.opcodes.end()) {
      continue;
    }
    double ideal = std::max(1.0, access_bits(instruction.opcode) / 8.0);
    widest = std::max(widest, ideal);
    known = known && instruction.executed >= 0;
    sum += static_cast<double>(instruction.executed) * ideal;
    executed += static_cast<double>(instruction.executed);
  }
  return known && executed > 0 ? sum / executed : widest;
}

void judge(const ToolInput& input, const Direction& direction, double all_sectors,
           std::vector<Finding>& findings) {
  double ideal = ideal_sectors(*input.kernel.sass, direction);
  if (direction.requests <= 0 || ideal <= 0) return;
  double per_request = direction.sectors / direction.requests;
  double excess = direction.sectors - direction.requests * ideal;
  if (per_request < kExcess * ideal || excess < kLeastShare * all_sectors) return;

  Finding finding;
  auto gain = gain_of_fewer_sectors(input, excess / all_sectors, finding.gain_model);
  if (!gain) finding.gain_model = "not known: neither cache nor DRAM use nor stalls were measured";
  if (gain && *gain < kLeastGain) return;
  finding.cause = direction.cause;
  finding.place = place_of(input.kernel, hottest(*input.kernel.sass, direction.opcodes));
  finding.numbers = {{"sectors_per_request", per_request},
                     {"ideal_sectors_per_request", ideal},
                     {"excess_x", per_request / ideal},
                     {"excess_pct", excess / all_sectors * 100},
                     {"excess_bytes", excess * 32}};
  finding.predicted_gain = gain.value_or(1);
  finding.severity = gain ? severity_by_gain(*gain) : Severity::medium;
  finding.confidence = 0.6;
  findings.push_back(finding);
}

std::vector<Finding> run(const ToolInput& input) {
  Direction loads{"loads",
                  {"LDG", "LD"},
                  *input.kernel.get(Metric::global_load_requests),
                  *input.kernel.get(Metric::global_load_sectors)};
  Direction stores{"stores",
                   {"STG", "ST"},
                   *input.kernel.get(Metric::global_store_requests),
                   *input.kernel.get(Metric::global_store_sectors)};
  std::vector<Finding> findings;
  double all = loads.sectors + stores.sectors;
  if (all <= 0) return {};
  judge(input, loads, all, findings);
  judge(input, stores, all, findings);
  return findings;
}

}  // namespace

Tool uncoalesced_access_tool() {
  return {.name = "uncoalesced_access",
          .says =
              "Finds global loads and stores whose warps touch more sectors than the bytes that "
              "they move need.",
          .classes = {BoundClass::memory, BoundClass::latency},
          .needs = {Metric::global_load_requests, Metric::global_load_sectors,
                    Metric::global_store_requests, Metric::global_store_sectors},
          .needs_sass = true,
          .run = run,
          .also_reads = {Metric::dram_bytes_read, Metric::dram_bytes_write, Metric::dram_gbs,
                         Metric::dram_throughput_pct, Metric::l1_throughput_pct,
                         Metric::l2_throughput_pct, Metric::stall_long_scoreboard,
                         Metric::stall_lg_throttle, Metric::warp_cycles_per_issue}};
}

}  // namespace kp
