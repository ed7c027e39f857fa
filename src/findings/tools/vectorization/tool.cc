#include <algorithm>
#include <cmath>

#include "findings/tools/bounds.h"
#include "findings/tools/tools.h"

namespace kp {
namespace {

// Sources of the thresholds: tool.md.
constexpr int kWidest = 128;          // bits a thread in one access
constexpr int kNarrowBelow = 64;      // bits
constexpr double kDominates = 0.5;    // of the accesses in the code
constexpr double kIdealLow = 0.75;    // of the sectors of a contiguous access: fewer is a broadcast
constexpr double kIdealHigh = 1.15;   // of the sectors: more is misaligned, strided or a mix
constexpr double kLeastShare = 0.10;  // of the kernel's sectors
constexpr double kLeastHeadroom = 1.05;
constexpr double kLeastGain = 1.02;  // of the kernel

struct Direction {
  const char* cause;
  std::string_view opcode;  // "LDG"
  const std::map<int, int>& widths;
  double requests = 0;
  double sectors = 0;
};

int most_common_width(const std::map<int, int>& widths) {
  auto most = std::max_element(widths.begin(), widths.end(),
                               [](auto& a, auto& b) { return a.second < b.second; });
  return most == widths.end() ? 0 : most->first;
}

double narrow_fraction(const std::map<int, int>& widths) {
  double narrow = 0;
  double all = 0;
  for (auto [bits, count] : widths) {
    all += count;
    if (bits < kNarrowBelow) narrow += count;
  }
  return all > 0 ? narrow / all : 0;
}

int bits_of(std::string_view opcode) {
  for (int bits : {128, 64}) {
    if (opcode.find("." + std::to_string(bits)) != std::string_view::npos) return bits;
  }
  if (opcode.find(".U8") != std::string_view::npos || opcode.find(".S8") != std::string_view::npos)
    return 8;
  return opcode.find(".U16") != std::string_view::npos ||
                 opcode.find(".S16") != std::string_view::npos
             ? 16
             : 32;
}

// The first access of that width, in a loop when there is one there.
const SassInstruction* first_access(const SassSummary& sass, std::string_view opcode, int bits) {
  const SassInstruction* first = nullptr;
  for (const SassInstruction& instruction : sass.code) {
    if (instruction.opcode.rfind(opcode, 0) != 0 || bits_of(instruction.opcode) != bits) continue;
    if (instruction.in_loop) return &instruction;
    if (first == nullptr) first = &instruction;
  }
  return first;
}

void judge(const ToolInput& input, const Direction& direction, double all_sectors,
           std::vector<Finding>& findings) {
  double headroom = dram_headroom(input);
  if (direction.requests <= 0 || direction.sectors < kLeastShare * all_sectors) return;
  if (headroom < kLeastHeadroom || narrow_fraction(direction.widths) <= kDominates) return;
  int bits = most_common_width(direction.widths);
  double ideal = bits / 8.0;  // 32 threads x bits / 8 bytes in sectors of 32 bytes
  double sectors_per_request = direction.sectors / direction.requests;
  if (bits >= kNarrowBelow || sectors_per_request < kIdealLow * ideal ||
      sectors_per_request > kIdealHigh * ideal) {
    return;
  }
  double share = direction.sectors / all_sectors;
  double fewer = static_cast<double>(kWidest) / bits;
  double bound = std::min(headroom, fewer);
  double gain = gain_without((1 - 1 / bound) * share);
  if (gain < kLeastGain) return;

  Finding finding;
  finding.cause = direction.cause;
  finding.place = place_of(input.kernel, first_access(*input.kernel.sass, direction.opcode, bits));
  finding.numbers = {{"width_bits", bits},
                     {"wider_bits", kWidest},
                     {"fewer_x", fewer},
                     {"sectors_per_request", sectors_per_request},
                     {"ideal_sectors_per_request", ideal},
                     {"sector_share_pct", share * 100},
                     {"dram_gbs", *input.kernel.get(Metric::dram_gbs)},
                     {"ceiling_gbs", dram_ceiling(input).gbs}};
  finding.predicted_gain = gain;
  finding.gain_model =
      "the share of the sectors that go by these accesses, sped up by DRAM's ceiling over its "
      "achieved bandwidth or by the factor of fewer accesses, whichever is less";
  finding.severity = finding.predicted_gain >= 1.3 ? Severity::high : Severity::medium;
  finding.confidence = 0.5;
  findings.push_back(finding);
}

std::vector<Finding> run(const ToolInput& input) {
  const SassSummary& sass = *input.kernel.sass;
  bool loop_loads = !sass.loop_global_load_widths.empty();
  bool loop_stores = !sass.loop_global_store_widths.empty();
  Direction loads{"narrow_loads", "LDG",
                  loop_loads ? sass.loop_global_load_widths : sass.global_load_widths,
                  *input.kernel.get(Metric::global_load_requests),
                  *input.kernel.get(Metric::global_load_sectors)};
  Direction stores{"narrow_stores", "STG",
                   loop_stores ? sass.loop_global_store_widths : sass.global_store_widths,
                   *input.kernel.get(Metric::global_store_requests),
                   *input.kernel.get(Metric::global_store_sectors)};
  std::vector<Finding> findings;
  double all = loads.sectors + stores.sectors;
  judge(input, loads, all, findings);
  judge(input, stores, all, findings);
  return findings;
}

}  // namespace

Tool vectorization_tool() {
  return {.name = "vectorization",
          .says =
              "Finds contiguous global loads and stores of fewer than 64 bits a thread where "
              "128 would do.",
          .classes = {BoundClass::memory, BoundClass::latency},
          .needs = {Metric::global_load_requests, Metric::global_load_sectors,
                    Metric::global_store_requests, Metric::global_store_sectors, Metric::dram_gbs,
                    Metric::dram_throughput_pct},
          .needs_sass = true,
          .run = run,
          .also_reads = {Metric::dram_bytes_read, Metric::dram_bytes_write}};
}

}  // namespace kp
