#include <fmt/format.h>

#include "report/text.h"

namespace kp {

namespace {

std::string timing_text(const Timing& t) {
  return fmt::format(
      "{:.4f} ms (95 % interval {:.4f} to {:.4f}, MAD {:.4f}, {} samples, {}, {} L2)", t.median_ms,
      t.ci95_ms.low, t.ci95_ms.high, t.mad_ms, t.samples, t.mode, t.l2);
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
  if (auto gain = v.speedup())
    out += fmt::format(", {:.2f}x against {}", *gain, v.baselines.front().name);
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

}  // namespace kp
