// What prompts say of a verdict.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "prompt/words.h"

namespace kp {
namespace {

constexpr std::size_t kMostDiagnostics = 12;

const char* outcome_in_words(Outcome outcome) {
  switch (outcome) {
    case Outcome::correct:
      return "It is correct";
    case Outcome::incorrect:
      return "It runs, but its result is wrong";
    case Outcome::plan_error:
      return "Its launch plan does not fit the task, the kernels or the device; nothing was run";
    case Outcome::compile_error:
      return "It does not compile";
    case Outcome::crashed:
      return "It crashed on the device";
    case Outcome::timed_out:
      return "It did not end in time and was killed";
    case Outcome::out_of_memory:
      return "It needs more memory than there is";
    case Outcome::dishonest:
      return "It was refused: it tampers with the measurement";
  }
  KP_CHECK(!"every outcome has words");
}

std::string sentence(std::string_view text) {
  text = trim(text);
  if (text.empty()) return "";
  bool ended = text.back() == '.' || text.back() == '!' || text.back() == '?';
  return std::string(text) + (ended ? "" : ".");
}

// "line 12: identifier x is undefined", with the line itself below: numbers alone are hard to find.
std::string diagnostics_in_words(const Build& build, std::string_view source) {
  std::vector<std::string_view> lines = lines_of(source);
  std::string out;
  std::size_t shown = 0;
  for (const auto& d : build.diagnostics) {
    if (d.severity != Diagnostic::Severity::error) continue;
    if (++shown > kMostDiagnostics) continue;
    std::string place = d.file.empty() ? "" : d.file + ", ";
    if (d.line > 0) place += fmt::format("line {}: ", d.line);
    out += fmt::format("{}{}\n", place, d.message);
    bool own = d.file.empty() && d.line > 0 && static_cast<std::size_t>(d.line) <= lines.size();
    if (own) out += fmt::format("    {}\n", trim(lines[static_cast<std::size_t>(d.line) - 1]));
  }
  if (shown > kMostDiagnostics)
    out += fmt::format("and {} more errors\n", shown - kMostDiagnostics);
  return out;
}

std::string leaf_in_words(const LeafError& leaf) {
  if (leaf.ok)
    return fmt::format(
        "{}: largest error {:.3g} (the reference's own: {:.3g}), relative L2 error "
        "{:.3g} ({:.3g})\n",
        leaf.tensor, leaf.max_abs, leaf.eager_max_abs, leaf.rel_l2, leaf.eager_rel_l2);
  std::string out = fmt::format("{}: {}", leaf.tensor, leaf.reason.empty() ? "wrong" : leaf.reason);
  out += fmt::format("; at [{}] it is {:.9g}, expected {:.9g}", fmt::join(leaf.worst_index, ", "),
                     leaf.actual, leaf.expected);
  out += fmt::format(
      "; {:.3g} % of the elements are outside the tolerance; largest error {:.3g} "
      "(the reference's own: {:.3g})\n",
      100 * leaf.outside, leaf.max_abs, leaf.eager_max_abs);
  return out;
}

std::string resources_in_words(const Build& build) {
  std::string out;
  for (const auto& k : build.kernels) {
    out += fmt::format("{}: {} registers a thread, {} bytes of static shared memory",
                       k.params.kernel, k.registers, k.params.static_smem);
    if (k.spill_store_bytes + k.spill_load_bytes > 0)
      out += fmt::format(", spills (stores of {} bytes, loads of {})", k.spill_store_bytes,
                         k.spill_load_bytes);
    out += "\n";
  }
  return out;
}

}  // namespace

std::string verdict_in_words(const Verdict& v, const Roofline* roofline) {
  std::string words = outcome_in_words(v.outcome);
  if (!v.correct()) {
    words += ".";
    if (std::string reason = sentence(v.reason); !reason.empty()) words += " " + reason;
    return words;
  }
  if (!v.accuracy_class.empty()) words += fmt::format(" ({})", v.accuracy_class);
  words += ".";
  if (!v.timing) return words;
  const Timing& t = *v.timing;
  words +=
      fmt::format(" It takes {:.4g} ms (median of {} samples, {} L2, {})", t.median_ms, t.samples,
                  t.l2, t.mode == "graph" ? "as a CUDA graph" : "as stream launches");
  if (auto speedup = v.speedup(); speedup && !v.baselines.empty())
    words += fmt::format(": {:.3g}x against {} ({:.4g} ms)", *speedup, v.baselines.front().name,
                         v.baselines.front().timing.median_ms);
  words += ".";
  if (roofline != nullptr && roofline->speed_of_light_ms > 0 && t.median_ms > 0)
    words += fmt::format(" That is {:.0f} % of the speed of light.",
                         100 * roofline->speed_of_light_ms / t.median_ms);
  return words;
}

std::string details_in_words(const Verdict& v, std::string_view source, std::size_t most) {
  if (most == 0) return "";
  std::string out;
  std::string diagnostics;
  if (v.outcome == Outcome::compile_error && v.build)
    diagnostics = diagnostics_in_words(*v.build, source);
  out += diagnostics.empty() ? std::string(trim(v.detail)) : diagnostics;
  if (!out.empty() && out.back() != '\n') out += "\n";
  for (const auto& leaf : v.leaves) out += leaf_in_words(leaf);
  if (v.build && v.build->ok) out += resources_in_words(*v.build);
  out = std::string(trim(out));
  if (out.size() <= most) return out;
  std::size_t end = out.rfind('\n', most);
  if (end == std::string::npos || end < most / 2) end = most;
  while (end > 0 && (static_cast<unsigned char>(out[end]) & 0xC0U) == 0x80U) --end;
  return out.substr(0, end) + "\n(cut)";
}

}  // namespace kp
