#include <algorithm>
#include <cmath>

#include "findings/tools/bounds.h"
#include "findings/tools/tools.h"

namespace kp {
namespace {

// Sources of the thresholds: tool.md.
constexpr double kLeastGain = 1.10;

std::vector<Finding> run(const ToolInput& input) {
  double waves = *input.kernel.get(Metric::waves_per_sm);
  if (waves <= 1) return {};  // no second wave: occupancy_limiter's case
  double whole = std::ceil(waves - 1e-6);
  double last = waves - (whole - 1);  // how full the last wave is, 0 to 1
  double gain = whole / waves;
  // The last wave's blocks have the memory to themselves: what was at its peak stays there.
  if (auto memory = input.kernel.get(Metric::memory_throughput_pct); memory && *memory > 0) {
    gain = std::min(gain, 100 / *memory);
  }
  if (gain < kLeastGain) return {};

  Finding finding;
  finding.cause = "partial_wave";
  finding.place = place_of(input.kernel, nullptr);
  finding.numbers = {{"waves_per_sm", waves},
                     {"whole_waves", whole},
                     {"last_wave_pct", last * 100},
                     {"grid_blocks", *input.kernel.get(Metric::grid_blocks)},
                     {"blocks_a_wave", *input.kernel.get(Metric::grid_blocks) / waves}};
  finding.predicted_gain = gain;
  finding.gain_model =
      "waves that run over waves that there is work for, if blocks take equal time, until memory "
      "is "
      "at its peak";
  finding.severity = severity_by_gain(gain);
  finding.confidence = 0.4;
  return {finding};
}

}  // namespace

Tool tail_effect_tool() {
  return {.name = "tail_effect",
          .says = "Finds grids whose last wave of blocks leaves most of the device idle.",
          .classes = {BoundClass::memory, BoundClass::compute, BoundClass::latency},
          .needs = {Metric::waves_per_sm, Metric::grid_blocks},
          .needs_sass = false,
          .run = run,
          .also_reads = {Metric::memory_throughput_pct}};
}

}  // namespace kp
