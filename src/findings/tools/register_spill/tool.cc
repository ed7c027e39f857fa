#include <algorithm>

#include "base/text.h"
#include "findings/tools/bounds.h"
#include "findings/tools/tools.h"
#include "profile/sass_loops.h"

namespace kp {
namespace {

// Sources of the thresholds: tool.md.
constexpr double kLeastShare = 0.01;  // of the instructions
constexpr double kMostStalls = 0.9;   // of a warp's time that can go
constexpr double kLeastGain = 1.01;

bool is_local(const SassInstruction& instruction) {
  std::string_view op = base_opcode(instruction.opcode);
  return op == "LDL" || op == "STL";
}

// "[R1]" and "[R1+0x10]": the stack pointer and a constant, as spills are; an array that is indexed
// at run time has its address in another register.
bool at_fixed_address(const SassInstruction& instruction) {
  return contains(instruction.operands, "[R1]") || contains(instruction.operands, "[R1+0x") ||
         contains(instruction.operands, "[UR");
}

bool spilled(const ToolInput& input) {
  const auto& resources = input.kernel.resources;
  if (resources && resources->spill_store_bytes + resources->spill_load_bytes > 0) return true;
  if (auto requests = input.kernel.get(Metric::local_spill_requests); requests && *requests > 0) {
    return true;
  }
  if (resources) return false;  // the compiler counted, and found none
  const auto& code = input.kernel.sass->code;
  return !std::any_of(code.begin(), code.end(),
                      [](const SassInstruction& i) { return is_local(i) && !at_fixed_address(i); });
}

std::optional<double> time_share(const ToolInput& input) {
  auto value = [&](Metric metric) { return input.kernel.get(metric).value_or(0); };
  double local = value(Metric::local_load_sectors) + value(Metric::local_store_sectors);
  double global = value(Metric::global_load_sectors) + value(Metric::global_store_sectors);
  auto stalls = stall_share(input, {Metric::stall_long_scoreboard, Metric::stall_lg_throttle});
  if (local <= 0 || !stalls) return std::nullopt;
  return std::min(kMostStalls, *stalls) * local / (local + global);
}

std::vector<Finding> run(const ToolInput& input) {
  const SassSummary& sass = *input.kernel.sass;
  if (sass.local_loads + sass.local_stores == 0) return {};
  double share = weight_share(sass, is_local);
  auto time = time_share(input);
  double gain = time ? gain_without(*time) : 1;
  if (share < kLeastShare || (time && gain < kLeastGain)) return {};

  Finding finding;
  finding.cause = spilled(input) ? "spills" : "dynamic_indexing";
  finding.place = place_of(input.kernel, hottest(sass, {"LDL", "STL"}));
  finding.numbers = {{"local_loads_in_code", sass.local_loads},
                     {"local_stores_in_code", sass.local_stores},
                     {"instruction_pct", share * 100}};
  if (auto registers = input.kernel.get(Metric::registers_per_thread)) {
    finding.numbers["registers_per_thread"] = *registers;
  }
  if (const auto& resources = input.kernel.resources) {
    finding.numbers["registers_per_thread"] = resources->registers;
    finding.numbers["stack_bytes"] = resources->stack_bytes;
    finding.numbers["spill_bytes"] = resources->spill_store_bytes + resources->spill_load_bytes;
  }
  finding.predicted_gain = gain;
  finding.gain_model =
      time ? "Amdahl on the share of the wait for memory that local memory's sectors stand for"
           : "not known: local memory's sectors or the stalls were not measured";
  finding.severity = time ? severity_by_gain(gain) : Severity::medium;
  finding.confidence = input.kernel.resources ? 0.7 : 0.5;
  return {finding};
}

}  // namespace

Tool register_spill_tool() {
  return {.name = "register_spill",
          .says =
              "Finds values that live in local memory, and tells spilled registers from arrays "
              "that are indexed at run time.",
          .classes = {BoundClass::memory, BoundClass::compute, BoundClass::latency},
          .needs = {},
          .needs_sass = true,
          .run = run,
          .also_reads = {Metric::local_load_sectors, Metric::local_store_sectors,
                         Metric::local_spill_requests, Metric::global_load_sectors,
                         Metric::global_store_sectors, Metric::stall_long_scoreboard,
                         Metric::stall_lg_throttle, Metric::warp_cycles_per_issue,
                         Metric::registers_per_thread}};
}

}  // namespace kp
