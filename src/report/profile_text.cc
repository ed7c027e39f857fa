#include <fmt/format.h>

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

std::string kernel_table(const Profile& profile) {
  std::string out = fmt::format("{:<28}", "kernel");
  for (const auto& c : kColumns) out += fmt::format("{:>10}", c.title);
  for (const auto& k : profile.kernels) {
    std::string name = k.kernel.size() > 27 ? k.kernel.substr(0, 24) + "..." : k.kernel;
    out += fmt::format("\n{:<28}", name);
    for (const auto& c : kColumns) out += fmt::format("{:>10}", cell(k, c.metric));
  }
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
