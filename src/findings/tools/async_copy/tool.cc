#include <algorithm>

#include "base/text.h"
#include "findings/tools/bounds.h"
#include "findings/tools/tools.h"
#include "profile/sass_loops.h"

namespace kp {
namespace {

// Sources of the thresholds: tool.md.
constexpr double kStallShare = 0.30;  // of the warp-cycles between two instructions
constexpr double kMostStalls = 0.9;   // of the wait that can go
constexpr double kIssueBusy = 80;     // % of the issue slots used
constexpr double kLeastGain = 1.02;

// "R12" of a load's first operand or of a store's last; empty when it is no register.
std::string_view register_name(std::string_view operand) {
  operand = trim(operand);
  std::size_t end = 1;
  while (end < operand.size() && operand[end] >= '0' && operand[end] <= '9') ++end;
  return starts_with(operand, "R") && end > 1 ? operand.substr(0, end) : std::string_view();
}

// A store to shared memory, in a loop, of a register that a global load in a loop has filled.
const SassInstruction* staged_store(const SassSummary& sass) {
  std::vector<std::string> loaded;
  for (const SassInstruction& i : sass.code) {
    if (!i.in_loop) continue;
    std::string_view op = base_opcode(i.opcode);
    auto operands = split(i.operands, ',');
    if (op == "LDG") loaded.emplace_back(register_name(operands.front()));
    if (op != "STS") continue;
    std::string_view stored = register_name(operands.back());
    if (!stored.empty() && std::find(loaded.begin(), loaded.end(), stored) != loaded.end()) {
      return &i;
    }
  }
  return nullptr;
}

std::vector<Finding> run(const ToolInput& input) {
  const SassSummary& sass = *input.kernel.sass;
  if (input.profile.device && input.profile.device->cc_major < 8) return {};  // has none
  double issue = *input.kernel.get(Metric::issue_active_pct);
  auto stalls = stall_share(input, {Metric::stall_long_scoreboard, Metric::stall_barrier});
  if (!stalls || *stalls < kStallShare || issue >= kIssueBusy || issue <= 0) return {};
  const SassInstruction* store = staged_store(sass);
  bool waits = std::any_of(sass.code.begin(), sass.code.end(), [](const SassInstruction& i) {
    return i.in_loop && base_opcode(i.opcode) == "BAR";
  });
  if (sass.async_copies > 0 || store == nullptr || !waits) return {};

  double gain =
      std::min({gain_without(*stalls * kMostStalls), 100 / issue, latency_headroom(input)});
  if (gain < kLeastGain) return {};
  Finding finding;
  finding.cause = "staged_in_registers";
  finding.place = place_of(input.kernel, store);
  finding.numbers = {{"stall_pct", *stalls * 100}, {"issue_active_pct", issue}};
  bool hopper = input.profile.device && input.profile.device->cc_major >= 9;
  if (hopper) finding.words["tma"] = "yes";
  finding.predicted_gain = gain;
  finding.gain_model =
      "Amdahl on nine tenths of the wait for global memory and at barriers, until every issue slot "
      "is used or the busiest unit is at its peak";
  finding.severity = severity_by_gain(gain);
  finding.confidence = 0.45;
  return {finding};
}

}  // namespace

Tool async_copy_tool() {
  return {
      .name = "async_copy",
      .says =
          "Finds loops that wait for tiles which pass through registers into shared memory, "
          "where an asynchronous copy would overlap them with the work.",
      .classes = {BoundClass::memory, BoundClass::compute, BoundClass::latency},
      .needs = {Metric::stall_long_scoreboard, Metric::stall_barrier, Metric::warp_cycles_per_issue,
                Metric::issue_active_pct, Metric::sm_throughput_pct, Metric::memory_throughput_pct},
      .needs_sass = true,
      .run = run,
      .also_reads = {Metric::dram_gbs, Metric::dram_throughput_pct}};
}

}  // namespace kp
