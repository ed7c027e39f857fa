// Facts of the build and of the disassembly → the kernels of a profile.
#include <fmt/format.h>

#include "profile/collect.h"
#include "profile/names.h"

namespace kp {

namespace {

const std::string& identity(const KernelProfile& k) {
  return k.signature.empty() ? k.kernel : k.signature;
}

std::vector<std::string> identities(const std::vector<SassSummary>& sass) {
  std::vector<std::string> names;
  names.reserve(sass.size());
  for (const SassSummary& s : sass) names.push_back(s.signature.empty() ? s.function : s.signature);
  return names;
}

std::vector<std::string> identities(const std::vector<KernelResources>& resources) {
  std::vector<std::string> names;
  names.reserve(resources.size());
  for (const KernelResources& r : resources) names.push_back(r.params.kernel);
  return names;
}

// Index of the kernel's match; an ambiguous one is noted.
int match(Profile& profile, const KernelProfile& kernel, const std::vector<std::string>& names,
          std::string_view what) {
  FunctionMatch m = match_function(identity(kernel), names);
  if (m.ambiguous)
    profile.notes.push_back(fmt::format(
        "{}: several functions of this name have {}; none was taken", kernel.kernel, what));
  return m.index;
}

}  // namespace

void attach(Profile& profile, const Build& build, const std::vector<SassSummary>& sass) {
  std::vector<std::string> resource_names = identities(build.kernels);
  std::vector<std::string> sass_names = identities(sass);
  std::vector<bool> sass_used(sass.size(), false), resource_used(build.kernels.size(), false);
  auto fill = [&](KernelProfile& kernel) {
    int r = match(profile, kernel, resource_names, "resources");
    int s = match(profile, kernel, sass_names, "SASS");
    if (r >= 0) {
      kernel.resources = build.kernels[static_cast<std::size_t>(r)];
      resource_used[static_cast<std::size_t>(r)] = true;
    }
    if (s >= 0) {
      kernel.sass = sass[static_cast<std::size_t>(s)];
      sass_used[static_cast<std::size_t>(s)] = true;
    }
  };
  for (KernelProfile& kernel : profile.kernels) fill(kernel);
  auto add = [&](const std::string& name) {
    KernelProfile kernel;
    kernel.signature = name;
    kernel.kernel = function_name(name);
    fill(kernel);
    profile.kernels.push_back(std::move(kernel));
  };
  for (std::size_t r = 0; r < resource_names.size(); ++r) {
    if (!resource_used[r]) add(resource_names[r]);
  }
  if (!build.kernels.empty()) return;  // what is left is no kernel but a device function
  for (std::size_t s = 0; s < sass_names.size(); ++s) {
    if (!sass_used[s]) add(sass_names[s]);
  }
}

}  // namespace kp
