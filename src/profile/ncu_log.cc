#include "profile/ncu_log.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace kp {

namespace {

constexpr std::string_view kError = "==ERROR==";

std::string first_error(std::string_view output) {
  for (std::string_view line : lines_of(output)) {
    if (starts_with(line, kError)) return std::string(trim(line.substr(kError.size())));
  }
  return "";
}

bool name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
}

}  // namespace

NcuTrouble ncu_trouble(std::string_view output) {
  using Kind = NcuTrouble::Kind;
  if (contains(output, "ERR_NVGPUCTRPERM"))
    return {Kind::permission, "Nsight Compute may not read the GPU's counters (ERR_NVGPUCTRPERM)",
            "run as root, or load the driver with the option NVreg_RestrictProfilingToAdminUsers=0 "
            "(a file in /etc/modprobe.d, then reload the driver or reboot), or start the container "
            "with --cap-add SYS_ADMIN"};
  if (contains(output, "driver resource was unavailable"))
    return {Kind::busy, "another profiler holds the GPU's counters",
            "end it (nsys, ncu, CUPTI), or pause DCGM: dcgmi profile --pause"};
  if (contains(output, "InterprocessLockFailed") || contains(output, "nsight-compute-lock"))
    return {Kind::lock, "Nsight Compute cannot take its lock file nsight-compute-lock",
            "another user owns it: set TMPDIR to a folder of your own"};
  if (!unknown_metrics(output).empty() && contains(output, "Failed to find metric"))
    return {Kind::unknown_metrics,
            "this Nsight Compute does not know " + join(unknown_metrics(output), ", "), ""};
  std::string error = first_error(output);
  if (!error.empty()) return {Kind::other, "Nsight Compute says: " + error, ""};
  if (contains(output, "No kernels were profiled"))
    return {Kind::no_kernels, "Nsight Compute saw no kernel launch that it should profile",
            "check that the program launches a kernel and that the kernel filter names it"};
  return {};
}

std::vector<std::string> unknown_metrics(std::string_view output) {
  std::vector<std::string> names;
  auto add = [&](std::string_view text) {
    std::string name;
    for (char c : text) {
      if (c == '\\') continue;  // "regex:^sm__foo\.(sum|min)$"
      if (!name_character(c)) break;
      name.push_back(c);
    }
    while (!name.empty() && name.back() == '.') name.pop_back();
    if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(name);
  };
  constexpr std::string_view kFailed = "Failed to find metric ";
  for (std::string_view line : lines_of(output)) {
    if (!starts_with(line, "==")) continue;
    if (std::size_t at = line.find(kFailed); at != std::string_view::npos) {
      std::string_view rest = line.substr(at + kFailed.size());
      if (starts_with(rest, "regex:")) rest.remove_prefix(6);
      if (starts_with(rest, "^")) rest.remove_prefix(1);
      add(rest);
    } else if (contains(line, "Unable to access the following")) {
      std::size_t colon = line.find("metrics:");
      if (colon == std::string_view::npos) continue;
      for (std::string_view part : split(line.substr(colon + 8), ',')) add(trim(part));
    }
  }
  return names;
}

}  // namespace kp
