// Several telemetry files about the same kernels → one Profile.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "base/text.h"
#include "profile/collect.h"
#include "profile/csv.h"
#include "profile/kind_of.h"
#include "profile/names.h"
#include "profile/read.h"

namespace kp {

namespace {

using Kind = FileKind;

// The first bytes of a file, or all of it where that is needed to tell what it is.
Result<std::string> text_of(const fs::path& path) {
  std::error_code ec;
  if (fs::is_directory(path, ec)) return fail(fmt::format("{}: is a folder", path.string()));
  std::ifstream file(path, std::ios::binary);
  std::string start(4096, '\0');
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  if (!start.empty() && !is_whole_needed(start, path)) return start;
  return read_file(path);
}

struct Input {
  fs::path path;
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
  if (!into.timeline) {
    into.timeline = std::move(from.timeline);
  } else if (from.timeline) {
    into.notes.push_back(
        fmt::format("{}: a second trace; the timeline is that of the file before", name));
  }
  if (!into.device) into.device = std::move(from.device);
  if (!into.ceilings) into.ceilings = std::move(from.ceilings);
  if (!into.work) {
    into.work = from.work;
    into.precision = from.precision;
  }
  if (into.roofline.why.empty()) into.roofline = std::move(from.roofline);
  for (std::string& source : from.sources) into.sources.push_back("  " + std::move(source));
  for (std::string& note : from.notes) into.notes.push_back(std::move(note));
}

// ncu's reader knows why there is no table: an error of ncu, UTF-16, a spreadsheet's semicolons.
Result<Profile> not_known(const Input& input) {
  auto read = read_ncu_csv(input.text, input.name);
  if (read || !contains(read.error().message, "no table of Nsight Compute")) return read;
  return fail(input.name + ": nothing in it is known as telemetry",
              "give a page of ncu (CSV, or as a terminal shows it), `nsys stats --format csv`, an "
              "SQLite export of nsys, SASS of cuobjdump or nvdisasm, a .ncu-rep or a .nsys-rep");
}

Result<Profile> profile_of(const Input& input) {
  if (input.kind == Kind::ncu_text) return read_ncu_text(input.text, input.name);
  if (input.kind == Kind::nsys_csv) return read_nsys_csv(input.text, input.name);
  if (input.kind == Kind::nsys_sqlite) return read_nsys_sqlite(input.path, input.name);
  if (input.kind == Kind::unknown) return not_known(input);
  if (input.kind != Kind::profile_json) return read_ncu_csv(input.text, input.name);
  KP_ASSIGN(Json json, parse_json(without_bom(input.text), input.name));
  auto profile = profile_from_json(json);
  if (!profile) return fail(input.name + ": " + profile.error().message, profile.error().hint);
  return profile;
}

Result<std::vector<SassSummary>> sass_of(const Input& input) {
  if (input.kind == Kind::ncu_source) return read_ncu_source(input.text, input.name);
  auto functions = parse_sass(input.text);
  if (!functions)
    return fail(input.name + ": " + functions.error().message, functions.error().hint);
  return functions;
}

// Reads the files; a report becomes what its own program exports.
Result<std::vector<Input>> open_files(const std::vector<fs::path>& paths,
                                      std::optional<TempFolder>& exported) {
  std::vector<Input> inputs;
  for (const fs::path& path : paths) {
    Input input{path, path.string(), "", Kind::unknown};
    KP_ASSIGN(input.text, text_of(path));
    input.kind = kind_of(input.text, path);
    if (input.kind == Kind::ncu_report) {
      KP_ASSIGN(NcuPages pages, import_ncu_report(find_toolkit(), path));
      if (!trim(pages.source).empty() && kind_of(pages.source, "") == Kind::ncu_source)
        inputs.push_back({path, input.name, std::move(pages.source), Kind::ncu_source});
      input.text = std::move(pages.raw);
      input.kind = Kind::ncu_raw;
    } else if (input.kind == Kind::nsys_report) {
      if (!exported) {
        KP_ASSIGN(exported, TempFolder::make("kp-nsys"));
      }
      input.path = exported->path() / fmt::format("{}.sqlite", inputs.size());
      KP_TRY(export_nsys_report(find_toolkit(), path, input.path));
      input.kind = Kind::nsys_sqlite;
    }
    inputs.push_back(std::move(input));
  }
  return inputs;
}

std::string source_line(const Input& input, std::size_t kernels) {
  return fmt::format(
      "{}: {}, {} {}", input.name, describe(input.kind), kernels,
      input.kind == Kind::sass || input.kind == Kind::ncu_source ? "functions" : "launches");
}

}  // namespace

Result<Profile> read_profile_files(const std::vector<fs::path>& paths) {
  if (paths.empty()) return fail("no telemetry file was given");
  std::optional<TempFolder> exported;
  KP_ASSIGN(std::vector<Input> inputs, open_files(paths, exported));
  Profile profile;
  // The raw page first: its numbers are not rounded.
  for (Kind kind : {Kind::ncu_raw, Kind::profile_json, Kind::ncu_details, Kind::ncu_text,
                    Kind::nsys_sqlite, Kind::nsys_csv, Kind::unknown}) {
    for (const Input& input : inputs) {
      if (input.kind != kind) continue;
      KP_ASSIGN(Profile part, profile_of(input));  // `unknown`: the reader says what it misses
      // Launches of a trace stand as kernels only where there are no counters.
      bool trace = kind == Kind::nsys_sqlite || kind == Kind::nsys_csv;
      if (trace && !profile.kernels.empty()) part.kernels.clear();
      profile.sources.push_back(source_line(input, part.kernels.size()));
      merge(profile, std::move(part), input.name);
    }
  }
  // The source page first: it has counters at the instructions.
  for (Kind kind : {Kind::ncu_source, Kind::sass}) {
    for (const Input& input : inputs) {
      if (input.kind != kind) continue;
      KP_ASSIGN(auto sass, sass_of(input));
      profile.sources.push_back(source_line(input, sass.size()));
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
