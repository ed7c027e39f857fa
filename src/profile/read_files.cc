// Several telemetry files about the same kernels → one Profile.
#include <fmt/format.h>

#include "base/text.h"
#include "profile/collect.h"
#include "profile/csv.h"
#include "profile/names.h"
#include "profile/read.h"

namespace kp {

namespace {

enum class Kind { raw_page, details_page, source_page, sass, profile_json, unknown };

Kind kind_of(std::string_view text) {
  std::string_view start = trim(without_bom(text).substr(0, 4096));
  if (starts_with(start, "{")) return Kind::profile_json;
  bool source = false;
  for (std::string_view line : lines_of(text)) {
    bool table = starts_with(line, "\"ID\",") || starts_with(line, "ID,");
    if (table && contains(line, "Kernel Name"))
      return contains(line, "Metric Name") ? Kind::details_page : Kind::raw_page;
    std::string_view bare = without_bom(line);
    if (starts_with(bare, "\"Kernel Name\",") || starts_with(bare, "Kernel Name,")) source = true;
    if (source && contains(line, "Address") && contains(line, "Source")) return Kind::source_page;
    std::string_view s = trim(line);
    if (starts_with(s, "Function :") || (starts_with(s, ".section") && contains(s, ".text.")))
      return Kind::sass;
  }
  return Kind::unknown;
}

struct Input {
  std::string name, text;
  Kind kind = Kind::unknown;
};

// The how-manieth launch of its function each kernel is, from 0: launches of several files are
// paired by it.
using LaunchKey = std::pair<std::string, int>;

std::vector<LaunchKey> launch_keys(const std::vector<KernelProfile>& kernels) {
  std::map<std::string, int> seen;
  std::vector<LaunchKey> keys;
  keys.reserve(kernels.size());
  for (const KernelProfile& k : kernels) keys.emplace_back(k.kernel, seen[k.kernel]++);
  return keys;
}

bool unlike(const Dim3& a, const Dim3& b) {
  Dim3 unknown{0, 0, 0};
  return a != unknown && b != unknown && a != b;
}

void merge(Profile& into, Profile from, const std::string& name) {
  std::map<LaunchKey, std::size_t> place;
  std::vector<LaunchKey> known = launch_keys(into.kernels);
  for (std::size_t i = 0; i < known.size(); ++i) place[known[i]] = i;
  std::vector<LaunchKey> keys = launch_keys(from.kernels);
  for (std::size_t i = 0; i < from.kernels.size(); ++i) {
    KernelProfile& kernel = from.kernels[i];
    auto it = place.find(keys[i]);
    KernelProfile* same = it == place.end() ? nullptr : &into.kernels[it->second];
    bool other_launch =
        same != nullptr && (unlike(same->grid, kernel.grid) || unlike(same->block, kernel.block));
    if (other_launch)
      into.notes.push_back(fmt::format(
          "{}: launch {} of {} has another grid or block than in the file before, and stands apart",
          name, keys[i].second + 1, kernel.kernel));
    if (same == nullptr || other_launch) {
      into.kernels.push_back(std::move(kernel));
      continue;
    }
    same->metrics.merge(kernel.metrics);  // what is there stays
    if (!same->resources) same->resources = std::move(kernel.resources);
    if (!same->sass) same->sass = std::move(kernel.sass);
  }
  if (!into.device) into.device = std::move(from.device);
  if (!into.ceilings) into.ceilings = std::move(from.ceilings);
  if (!into.work) {
    into.work = from.work;
    into.precision = from.precision;
  }
  if (into.roofline.why.empty()) into.roofline = std::move(from.roofline);
  for (std::string& note : from.notes) into.notes.push_back(std::move(note));
}

Result<Profile> profile_of(const Input& input) {
  if (input.kind != Kind::profile_json) return read_ncu_csv(input.text, input.name);
  KP_ASSIGN(Json json, parse_json(without_bom(input.text), input.name));
  auto profile = profile_from_json(json);
  if (!profile) return fail(input.name + ": " + profile.error().message, profile.error().hint);
  return profile;
}

Result<std::vector<SassSummary>> sass_of(const Input& input) {
  if (input.kind == Kind::source_page) return read_ncu_source(input.text, input.name);
  auto functions = parse_sass(input.text);
  if (!functions)
    return fail(input.name + ": " + functions.error().message, functions.error().hint);
  return functions;
}

}  // namespace

Result<Profile> read_profile_files(const std::vector<fs::path>& paths) {
  if (paths.empty()) return fail("no telemetry file was given");
  std::vector<Input> inputs;
  for (const fs::path& path : paths) {
    Input input;
    input.name = path.string();
    KP_ASSIGN(input.text, read_file(path));
    input.kind = kind_of(input.text);
    inputs.push_back(std::move(input));
  }
  Profile profile;
  // The raw page first: its numbers are not rounded.
  for (Kind kind : {Kind::raw_page, Kind::profile_json, Kind::details_page, Kind::unknown}) {
    for (const Input& input : inputs) {
      if (input.kind != kind) continue;
      KP_ASSIGN(Profile part, profile_of(input));  // `unknown`: the reader says what it misses
      merge(profile, std::move(part), input.name);
    }
  }
  // The source page first: it has counters at the instructions.
  for (Kind kind : {Kind::source_page, Kind::sass}) {
    for (const Input& input : inputs) {
      if (input.kind != kind) continue;
      KP_ASSIGN(auto sass, sass_of(input));
      Profile part;
      part.kernels = profile.kernels;
      for (KernelProfile& k : part.kernels) k.sass.reset();
      part.notes.clear();
      attach(part, {}, sass);
      for (std::size_t i = 0; i < profile.kernels.size(); ++i) {
        if (!profile.kernels[i].sass) profile.kernels[i].sass = std::move(part.kernels[i].sass);
      }
      for (std::size_t i = profile.kernels.size(); i < part.kernels.size(); ++i)
        profile.kernels.push_back(std::move(part.kernels[i]));
      for (std::string& note : part.notes) profile.notes.push_back(input.name + ": " + note);
    }
  }
  return profile;
}

}  // namespace kp
