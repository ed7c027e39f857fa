#pragma once
// The tool record and the runner of tools. A tool is a pure function from a kernel's profile to
// findings; it lives in findings/tools/<name>/ and is listed in all_tools.cc.
#include <vector>

#include "findings/finding.h"

namespace kp {

struct ToolInput {
  const Profile& profile;
  const KernelProfile& kernel;  // of equal launches (function, grid, block) the slowest
  double share = 1;             // of the profile's total time that this kernel takes, 0 to 1
};

struct Tool {
  std::string_view name;
  std::string_view says;            // one sentence, the first line of tool.md
  std::vector<BoundClass> classes;  // on for these roofline classes; all three = always
  std::vector<Metric> needs;        // one missing: the tool is skipped, and says so
  bool needs_sass = false;
  // predicted_gain is the kernel's own; run_tools turns it into the whole's, bounds it by the speed
  // of light, and adds the numbers kernel_gain and share_pct.
  std::vector<Finding> (*run)(const ToolInput& input) = nullptr;
  std::vector<Metric> also_reads = {};  // sharpens the finding where it is there
  // Judges the whole by the timeline: runs once, with the longest kernel (an empty one when the
  // profile has none), and its gain is the whole's. The roofline does not bound it: gaps are no
  // kernel's time.
  bool needs_timeline = false;
};

const std::vector<Tool>& all_tools();

struct Skipped {
  std::string tool;  // "all": the kernel takes too little of the time
  std::string kernel;
  std::string why;  // "needs stall_barrier, which the profile lacks", "off for memory-bound tasks"
};

struct Findings {
  std::vector<Finding> findings;  // highest (predicted gain - 1) x confidence first
  std::vector<Skipped> skipped;
};

// Runs every tool of the profile's class on every kernel that takes at least 2 % of the time.
Findings run_tools(const Profile& profile, const std::vector<Tool>& tools);

// Amdahl: the gain of the whole when `share` of the time becomes `local_gain` times as fast.
double whole_gain(double share, double local_gain);

}  // namespace kp
