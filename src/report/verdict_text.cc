#include <fmt/format.h>

#include "base/text.h"
#include "report/text.h"

namespace kp {

namespace {

std::string timing_text(const Timing& t) {
  return fmt::format(
      "{:.4f} ms (95 % interval {:.4f} to {:.4f}, MAD {:.4f}, {} samples, {}, {} L2)", t.median_ms,
      t.ci95_ms.low, t.ci95_ms.high, t.mad_ms, t.samples, t.mode, t.l2);
}

std::string conditions_text(const Conditions& c) {
  std::string clocks = c.sm_mhz_min == c.sm_mhz_max
                           ? fmt::format("{:.0f}", c.sm_mhz_max)
                           : fmt::format("{:.0f} to {:.0f}", c.sm_mhz_min, c.sm_mhz_max);
  std::string out = fmt::format("clocks {} MHz (memory {:.0f}), {:.0f} C, {:.0f} W", clocks,
                                c.memory_mhz, c.temperature_c, c.power_w);
  if (!c.throttle.empty()) out += ", held low by: " + join(c.throttle, ", ");
  if (c.redone > 0) out += fmt::format(", {} rounds redone", c.redone);
  return out;
}

std::string energy_text(const Energy& e) {
  return fmt::format(
      "energy {:.4g} mJ a call (95 % interval {:.4g} to {:.4g}), {:.4g} mJ above idle; {:.0f} W, "
      "idle {:.0f} W, {} windows",
      1e3 * e.joules, 1e3 * e.ci95.low, 1e3 * e.ci95.high, 1e3 * e.above_idle_j, e.power_w,
      e.idle_w, e.windows);
}

std::string indented(const std::string& text) {
  std::string out = "  ";
  for (char c : text) {
    out.push_back(c);
    if (c == '\n') out += "  ";
  }
  return out;
}

}  // namespace

std::string describe(const Verdict& v, double seconds) {
  std::string out = v.correct() ? fmt::format("correct on {} seeds, {}", v.seeds, v.accuracy_class)
                                : fmt::format("{}: {}", name_of(v.outcome), v.reason);
  if (auto gain = v.speedup()) {
    out += fmt::format(", {:.2f}x against {}", *gain, v.baselines.front().name);
    if (v.speedup_ci95)
      out += fmt::format(" ({:.3f} to {:.3f})", v.speedup_ci95->low, v.speedup_ci95->high);
  }
  if (!v.detail.empty()) out += "\n" + indented(v.detail);
  for (const auto& leaf : v.leaves) {
    out += fmt::format("\n  {}: relative L2 error {:.2e} (reference's own {:.2e}), largest {:.2e}",
                       leaf.tensor, leaf.rel_l2, leaf.eager_rel_l2, leaf.max_abs);
  }
  for (const auto& t : v.timings) out += fmt::format("\n  time {:<14} {}", t.mode, timing_text(t));
  if (!v.timings.empty())
    for (const auto& b : v.baselines)
      out += fmt::format(
          "\n  base {:<14} {}{}", b.name, timing_text(b.timing),
          v.timing ? fmt::format(": {:.2f}x", b.timing.median_ms / v.timing->median_ms) : "");
  if (!v.deterministic) out += "\n  runs on the same inputs differ in bits, all within tolerance";
  if (v.conditions) out += "\n  " + conditions_text(*v.conditions);
  if (v.energy) out += "\n  " + energy_text(*v.energy);
  if (v.build)
    for (const auto& k : v.build->kernels)
      out += fmt::format("\n  kernel {}: {} registers, {} bytes shared, {} bytes spilled",
                         k.params.kernel, k.registers, k.params.static_smem,
                         k.spill_store_bytes + k.spill_load_bytes);
  if (seconds > 0) {
    out += fmt::format("\n  judged in {:.2f} s:", seconds);
    for (const auto& [stage, s] : v.stages) out += fmt::format(" {} {:.3f}", stage, s);
  }
  return out;
}

std::string describe(const Gain& gain) {
  return fmt::format("{:.3f}x ({:.3f} to {:.3f}): {}", gain.ratio, gain.ci95.low, gain.ci95.high,
                     gain.real         ? "faster"
                     : gain.ratio >= 1 ? "no gain that noise does not explain"
                                       : "not faster");
}

}  // namespace kp
