#pragma once
// For tests: the cases of a tool, src/findings/tools/<name>/cases/*.json.
//
//   {"what": "...", "profile": {Profile}, "expect": {"findings": [
//       {"cause": "narrow_loads", "kernel": "k", "severity": "high", "predicted_gain": [1.1, 1.2],
//        "kernel_gain": [1.1, 1.2], "numbers": {"width_bits": 32}, "words": {...}, "sass": "LDG"}],
//     "skipped": ["needs dram_gbs, which the profile lacks"]}}
//
// Findings are in rank order; members that are left out are not checked; numbers within 1 %.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/files.h"
#include "base/text.h"
#include "findings/tool.h"

namespace kp {

struct CaseFile {
  std::string name;  // "fires_scale_add"
  Profile profile;
  Json expect;
};

inline fs::path tool_folder(std::string_view tool) {
  return fs::path(KERNELPRO_SOURCE_DIR) / "src/findings/tools" / tool;
}

inline Result<CaseFile> load_case(const fs::path& path) {
  KP_ASSIGN(std::string text, read_file(path));
  KP_ASSIGN(Json json, parse_json(text, path.string()));
  if (!json.contains("profile") || !json.contains("expect") ||
      !json["expect"].contains("findings") || !json["expect"].contains("skipped")) {
    return fail(path.string() + ": needs profile, expect.findings and expect.skipped");
  }
  KP_ASSIGN(Profile profile, profile_from_json(json["profile"]));
  return CaseFile{path.stem(), std::move(profile), json["expect"]};
}

inline std::vector<CaseFile> cases_of(std::string_view tool) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(tool_folder(tool) / "cases")) {
    if (entry.path().extension() == ".json") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<CaseFile> cases;
  for (const fs::path& path : paths) {
    if (auto one = load_case(path)) {
      cases.push_back(std::move(*one));
    } else {
      ADD_FAILURE() << one.error().text();
    }
  }
  return cases;
}

inline Findings run_case(const Tool& tool, const CaseFile& one) {
  return run_tools(one.profile, {tool});
}

}  // namespace kp
