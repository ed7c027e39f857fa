#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "directives/words.h"
#include "report/text.h"

namespace kp {

namespace {

// What the table shows of each kernel, where it was measured.
struct Column {
  const char* title;
  Metric metric;
};
constexpr Column kColumns[] = {
    {"time us", Metric::duration_us},         {"SM %", Metric::sm_throughput_pct},
    {"mem %", Metric::memory_throughput_pct}, {"DRAM %", Metric::dram_throughput_pct},
    {"L2 hit %", Metric::l2_hit_pct},         {"occup. %", Metric::occupancy_achieved_pct},
    {"issue %", Metric::issue_active_pct},    {"tensor %", Metric::tensor_pipe_pct},
    {"regs", Metric::registers_per_thread},
};

std::string cell(const KernelProfile& k, Metric metric) {
  auto value = k.get(metric);
  if (!value) return "-";
  return *value >= 1000 ? fmt::format("{:.0f}", *value) : fmt::format("{:.1f}", *value);
}

// Times of a trace: what ran, what did not, and what the host spent on launches.
std::string timeline_text(const Timeline& t) {
  std::string out;
  if (!t.events.empty())
    out += fmt::format(
        "Timeline: {} pieces of work in {:.1f} us, busy {:.1f} us; {} gaps, together {:.1f} us, "
        "the "
        "largest {:.1f} us.",
        static_cast<std::int64_t>(t.events.size()) + t.left_out, t.span_us, t.busy_us, t.gaps,
        t.gap_us, t.largest_gap_us);
  if (t.graph_nodes > 0) out += fmt::format(" {} launched by CUDA graphs.", t.graph_nodes);
  constexpr std::size_t kMost = 8;  // of each kind
  for (const auto* sums : {&t.kernels, &t.transfers, &t.calls}) {
    const char* what = sums == &t.kernels ? "kernel" : sums == &t.calls ? "call" : "transfer";
    for (std::size_t i = 0; i < std::min(kMost, sums->size()); ++i) {
      const TimeSum& s = (*sums)[i];
      out += fmt::format("\n  {:<9}{:>8} x {:>12.1f} us  {}", what, s.count, s.total_us,
                         s.name.substr(0, 60));
    }
  }
  return out;
}

std::string kernel_table(const Profile& profile) {
  std::string out = fmt::format("{:<28}", "kernel");
  for (const auto& c : kColumns) out += fmt::format("{:>10}", c.title);
  constexpr std::size_t kMostRows = 60;
  for (std::size_t i = 0; i < std::min(kMostRows, profile.kernels.size()); ++i) {
    const KernelProfile& k = profile.kernels[i];
    std::string name = k.kernel.size() > 27 ? k.kernel.substr(0, 24) + "..." : k.kernel;
    out += fmt::format("\n{:<28}", name);
    for (const auto& c : kColumns) out += fmt::format("{:>10}", cell(k, c.metric));
  }
  if (profile.kernels.size() > kMostRows)
    out += fmt::format("\n... and {} more launches", profile.kernels.size() - kMostRows);
  return out;
}

std::string roofline_text(const Roofline& r) {
  std::string out = fmt::format("Bound by {}.", name_of(r.bound));
  if (r.speed_of_light_ms > 0)
    out += fmt::format(" Speed of light {:.4f} ms (memory {:.4f}, compute {:.4f}, launch {:.4f}).",
                       r.speed_of_light_ms, r.memory_ms, r.compute_ms, r.launch_ms);
  if (!r.why.empty()) out += " " + r.why;
  return out;
}

}  // namespace

std::string describe(const Profile& profile, const Findings& findings,
                     const std::vector<Directive>& directives) {
  std::string out;
  if (profile.device) out += profile.device->name + "\n";
  out += roofline_text(profile.roofline) + "\n\n" + kernel_table(profile) + "\n";
  if (profile.timeline) out += "\n" + timeline_text(*profile.timeline) + "\n";
  if (directives.empty()) out += "\nNo tool has anything to say.\n";
  for (const auto& d : directives)
    out += fmt::format("\n{}. {} [{}: at most {:.2f}x, confidence {:.0f} %]\n{}\n", d.id.substr(1),
                       d.title, d.tool, d.predicted_gain, 100 * d.confidence, d.text);
  std::set<std::string> silent;
  for (const auto& s : findings.skipped)
    silent.insert(s.kernel.empty() ? fmt::format("{}: {}", s.tool, s.why)
                                   : fmt::format("{} on {}: {}", s.tool, s.kernel, s.why));
  for (const auto& note : profile.notes) out += "\nnote: " + note;
  for (const auto& s : silent) out += "\nnot run: " + s;
  return out;
}

}  // namespace kp
