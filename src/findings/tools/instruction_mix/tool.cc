#include <algorithm>
#include <array>

#include "base/text.h"
#include "findings/tools/bounds.h"
#include "findings/tools/tools.h"
#include "profile/sass_loops.h"

namespace kp {
namespace {

// Sources of the thresholds: tool.md.
constexpr double kMemoryBusy = 60;  // % of peak, and above the SM's: then arithmetic is no matter
constexpr double kLeastGain = 1.05;
constexpr double kMostGain = 4;  // where the share of instructions stands in for that of the time

bool one_of(std::string_view op, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), op) != names.end();
}

bool is_fp64(const SassInstruction& i) {
  return one_of(base_opcode(i.opcode), {"DFMA", "DADD", "DMUL", "DSETP"}) ||
         (starts_with(i.opcode, "F2F") && contains(i.opcode, "F64"));
}

// FP64 among FP32 data comes of a literal without f or a double function; a double task has none.
bool widens_fp32(const SassInstruction& i) {
  return starts_with(i.opcode, "F2F") && contains(i.opcode, "F64.F32");
}

bool is_conversion(const SassInstruction& i) {
  return one_of(base_opcode(i.opcode), {"F2F", "F2I", "I2F", "I2FP", "F2FP", "FRND"}) &&
         !is_fp64(i);
}

// Integer division and remainder by a value that is not known to the compiler: it converts, takes
// the reciprocal of the floating-point value and corrects.
bool is_integer_division(const SassInstruction& i) {
  return starts_with(i.opcode, "I2F") && contains(i.opcode, ".RP");
}

bool is_special(const SassInstruction& i) {
  return base_opcode(i.opcode) == "MUFU";
}

bool is_call(const SassInstruction& i) {
  return starts_with(i.opcode, "CALL");
}

struct Mix {
  const char* cause;
  bool (*is)(const SassInstruction&);
  double least_share;  // of the instructions
  double cost;         // issue slots of such an instruction, with what belongs to it
};

// A division is about 20 instructions (recorded `strided`: 18 for 32 bits) of which one is seen
// here.
constexpr std::array<Mix, 5> kMixes = {{{"fp64", is_fp64, 0.05, 2},
                                        {"integer_division", is_integer_division, 0.01, 18},
                                        {"calls", is_call, 0.005, 20},
                                        {"conversions", is_conversion, 0.15, 2},
                                        {"special_functions", is_special, 0.15, 2}}};

std::vector<Finding> run(const ToolInput& input) {
  const SassSummary& sass = *input.kernel.sass;
  double sm = *input.kernel.get(Metric::sm_throughput_pct);
  double memory = *input.kernel.get(Metric::memory_throughput_pct);
  if (memory >= kMemoryBusy && memory > sm) return {};
  double bound = std::min(memory > 0 ? 100 / memory : kMostGain, kMostGain);

  std::vector<Finding> findings;
  for (const Mix& mix : kMixes) {
    double share = weight_share(sass, mix.is);
    bool fp64 = mix.is == is_fp64;
    if (share < mix.least_share || (fp64 && weight_share(sass, widens_fp32) <= 0)) continue;
    double time = std::min(0.75, share * mix.cost);
    std::string model =
        "share of the instructions, with those that belong to them, until memory "
        "is at its peak, 4x at most";
    if (fp64) {
      if (auto pipe = input.kernel.get(Metric::fp64_pipe_pct)) time = std::min(0.97, *pipe / 100);
      model =
          "share of the time that the FP64 pipe is busy, until memory is at its peak, 4x at most";
    }
    double gain = std::min(gain_without(time), bound);
    if (gain < kLeastGain) continue;
    auto first = std::find_if(sass.code.begin(), sass.code.end(), [&](const SassInstruction& i) {
      return mix.is(i) && weight_of(sass, i) > 0;
    });
    Finding finding;
    finding.cause = mix.cause;
    finding.place = place_of(input.kernel, &*first);
    finding.numbers = {
        {"instruction_pct", share * 100},
        {"in_code", static_cast<double>(std::count_if(sass.code.begin(), sass.code.end(), mix.is))},
        {"time_pct", time * 100},
        {"sm_throughput_pct", sm},
        {"memory_throughput_pct", memory}};
    finding.predicted_gain = gain;
    finding.gain_model = model;
    finding.severity = severity_by_gain(gain);
    bool counted = std::all_of(sass.code.begin(), sass.code.end(),
                               [](const SassInstruction& i) { return i.executed >= 0; });
    finding.confidence = counted ? 0.5 : 0.3;
    findings.push_back(finding);
  }
  return findings;
}

}  // namespace

Tool instruction_mix_tool() {
  return {.name = "instruction_mix",
          .says =
              "Finds slow instructions that the source does not show: FP64, integer division, "
              "calls, conversions, special functions.",
          .classes = {BoundClass::compute, BoundClass::latency},
          .needs = {Metric::sm_throughput_pct, Metric::memory_throughput_pct},
          .needs_sass = true,
          .run = run,
          .also_reads = {Metric::fp64_pipe_pct, Metric::xu_pipe_pct}};
}

}  // namespace kp
