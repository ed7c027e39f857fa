#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "findings/tool.h"
#include "profile/roofline.h"

namespace kp {
namespace {

constexpr double kLeastShare = 0.02;  // of the time; under it a kernel is not worth a proposal

// Launches of one function with one shape: the same advice holds for all of them.
struct Group {
  const KernelProfile* slowest = nullptr;
  double us = 0;  // all launches together
};

std::vector<Group> group_launches(const Profile& profile) {
  std::vector<Group> groups;
  for (const KernelProfile& kernel : profile.kernels) {
    double us = kernel.get(Metric::duration_us).value_or(0);
    auto same = [&](const Group& group) {
      return group.slowest->kernel == kernel.kernel && group.slowest->grid == kernel.grid &&
             group.slowest->block == kernel.block;
    };
    auto it = std::find_if(groups.begin(), groups.end(), same);
    if (it == groups.end()) it = groups.insert(it, Group{&kernel, 0});
    if (us > it->slowest->get(Metric::duration_us).value_or(0)) it->slowest = &kernel;
    it->us += us;
  }
  return groups;
}

// Without a task there is no theory of the whole, and kernels of a file may have nothing to do with
// each other: each is judged by its own measurement.
bool judged_alone(const Profile& profile) {
  return !profile.roofline.by_theory && profile.roofline.by_measurement;
}

BoundClass class_of(const KernelProfile& kernel, const Profile& profile) {
  if (!judged_alone(profile)) return profile.roofline.bound;
  return measured_class(kernel, profile.ceilings).value_or(profile.roofline.bound);
}

std::string missing(const Tool& tool, const KernelProfile& kernel) {
  std::vector<std::string> names;
  for (Metric metric : tool.needs) {
    if (!kernel.get(metric)) names.emplace_back(info_of(metric).name);
  }
  if (tool.needs_sass && !kernel.sass) names.emplace_back("SASS");
  return join(names, ", ");
}

// The kernel's gain becomes the whole's: Amdahl by its share, and never past the speed of light.
void make_whole(Finding& finding, const Profile& profile, double share) {
  double kernel_gain = std::max(1.0, finding.predicted_gain);
  double gain = whole_gain(share, kernel_gain);
  double light_us = profile.roofline.speed_of_light_ms * 1000;
  if (light_us > 0 && profile.total_us() > 0) {
    gain = std::min(gain, std::max(1.0, profile.total_us() / light_us));
  }
  finding.numbers["kernel_gain"] = kernel_gain;
  finding.numbers["share_pct"] = share * 100;
  finding.predicted_gain = gain;
}

// Tools of the whole.
void run_on_timeline(const Profile& profile, const std::vector<Tool>& tools, Findings& result) {
  const KernelProfile none;
  const KernelProfile* longest = profile.dominant();
  const KernelProfile& kernel = longest != nullptr ? *longest : none;
  for (const Tool& tool : tools) {
    if (!tool.needs_timeline) continue;
    if (!profile.timeline) {
      if (longest == nullptr) continue;
      result.skipped.push_back(
          {std::string(tool.name), kernel.kernel, "needs a timeline, which the profile lacks"});
      continue;
    }
    for (Finding& finding : tool.run({profile, kernel, 1})) {
      finding.tool = tool.name;
      finding.numbers["kernel_gain"] = finding.predicted_gain;
      finding.numbers["share_pct"] = 100;
      result.findings.push_back(std::move(finding));
    }
  }
}

}  // namespace

double whole_gain(double share, double local_gain) {
  KP_CHECK(share >= 0 && share <= 1 + 1e-9 && local_gain >= 1);
  return 1 / (1 - share + share / local_gain);
}

Findings run_tools(const Profile& profile, const std::vector<Tool>& tools) {
  Findings result;
  double total_us = profile.total_us();
  std::vector<Group> groups = group_launches(profile);
  for (const Group& group : groups) {
    const KernelProfile& kernel = *group.slowest;
    // Without any duration every kernel counts alike.
    double share = total_us > 0 ? group.us / total_us : 1 / static_cast<double>(groups.size());
    if (total_us > 0 && share < kLeastShare) {
      result.skipped.push_back({"all", kernel.kernel,
                                fmt::format("takes {:.2g} % of the time, under {:.0f} %",
                                            share * 100, kLeastShare * 100)});
      continue;
    }
    BoundClass bound = class_of(kernel, profile);
    for (const Tool& tool : tools) {
      if (tool.needs_timeline) continue;
      auto skip = [&](std::string why) {
        result.skipped.push_back({std::string(tool.name), kernel.kernel, std::move(why)});
      };
      if (std::find(tool.classes.begin(), tool.classes.end(), bound) == tool.classes.end()) {
        skip(fmt::format("off for {}-bound {}", name_of(bound),
                         judged_alone(profile) ? "kernels" : "tasks"));
        continue;
      }
      if (std::string lacks = missing(tool, kernel); !lacks.empty()) {
        skip(fmt::format("needs {}, which the profile lacks", lacks));
        continue;
      }
      for (Finding& finding : tool.run({profile, kernel, share})) {
        finding.tool = tool.name;
        make_whole(finding, profile, share);
        result.findings.push_back(std::move(finding));
      }
    }
  }
  run_on_timeline(profile, tools, result);
  auto worth = [](const Finding& f) { return (f.predicted_gain - 1) * f.confidence; };
  std::stable_sort(result.findings.begin(), result.findings.end(),
                   [&](const Finding& a, const Finding& b) { return worth(a) > worth(b); });
  return result;
}

}  // namespace kp
