#include <fmt/format.h>

#include "report/text.h"

namespace kp {

std::string describe(const SanitizerReport& report) {
  std::string out;
  for (const auto& run : report.runs) {
    out += fmt::format("{}  sanitizer {:<10} {}", out.empty() ? "" : "\n", run.tool,
                       name_of(run.status));
    if (run.launches > 0) out += fmt::format(", {} launches", run.launches);
    if (run.seconds > 0) out += fmt::format(", {:.1f} s", run.seconds);
    if (!run.note.empty()) out += ": " + run.note;
    for (const auto& issue : run.issues) {
      out += fmt::format("\n    {}{}", issue.warning ? "warning: " : "", issue.what);
      if (!issue.kernel.empty()) out += " in " + issue.kernel;
      if (issue.line > 0) out += fmt::format(", line {}", issue.line);
      if (issue.times > 1) out += fmt::format(", {} times", issue.times);
      if (!issue.detail.empty()) out += " (" + issue.detail + ")";
    }
  }
  return out;
}

}  // namespace kp
