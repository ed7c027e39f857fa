#include "search/run_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/clock.h"
#include "base/text.h"
#include "search/journal.h"

namespace kp {

namespace {

std::string clean(std::string_view name) {
  std::string out;
  for (char c : name) {
    bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
    out += plain ? c : '-';
  }
  while (!out.empty() && (out.front() == '.' || out.front() == '-')) out.erase(0, 1);
  return out.empty() ? "run" : out.substr(0, 80);
}

std::string stamp() {  // "20261201-093000"
  std::string out;
  for (char c : utc_time())
    if (c == 'T')
      out += '-';
    else if (std::isdigit(static_cast<unsigned char>(c)) != 0)
      out += c;
  return out;
}

}  // namespace

Result<RunFolder> make_run_folder(const fs::path& root, std::string_view task) {
  KP_TRY(make_folder(root));
  std::string name = fmt::format("{}-{}", clean(task), stamp());
  for (int i = 1; i < 1000; ++i) {
    fs::path path = root / (i == 1 ? name : fmt::format("{}-{}", name, i));
    std::error_code ec;
    if (fs::create_directory(path, ec)) return RunFolder{path};
    if (ec) return fail(fmt::format("{}: cannot be made: {}", path.string(), ec.message()));
  }
  return fail(fmt::format("{}: no free name for a run", (root / name).string()));
}

Result<RunFolder> find_run_folder(const fs::path& root, const std::string& name) {
  std::error_code ec;
  std::vector<RunFolder> known = run_folders(root);
  if (name == "last") {
    if (known.empty())
      return fail(fmt::format("{}: holds no run", root.string()), "start one: kernelpro optimize");
    return known.back();
  }
  fs::path given = name;
  if (given.filename().empty()) given = given.parent_path();  // "runs/a/"
  if (given.filename() == "journal.jsonl" && fs::is_regular_file(given, ec))
    return RunFolder{given.has_parent_path() ? given.parent_path() : fs::path(".")};
  for (const fs::path& path : {given, root / given})
    if (fs::is_regular_file(RunFolder{path}.journal(), ec)) return RunFolder{path};
  std::vector<std::string> names;
  for (const RunFolder& folder : known) names.push_back(folder.path.filename().string());
  std::string near = nearest(given.filename().string(), names);
  return fail(fmt::format("{}: no run is there (no journal.jsonl)", name),
              near.empty() ? fmt::format("runs are looked for in {}", root.string())
                           : fmt::format("did you mean {}?", near));
}

std::vector<RunFolder> run_folders(const fs::path& root) {
  std::vector<std::pair<fs::file_time_type, RunFolder>> found;
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(root, ec)) {
    RunFolder folder{entry.path()};
    std::error_code ignored;
    if (!fs::is_regular_file(folder.journal(), ignored)) continue;
    found.emplace_back(fs::last_write_time(folder.journal(), ignored), folder);
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first, a.second.path) < std::pair(b.first, b.second.path);
  });
  std::vector<RunFolder> folders;
  folders.reserve(found.size());
  for (auto& [time, folder] : found) folders.push_back(std::move(folder));
  return folders;
}

RunSummary summarize_run(const RunFolder& folder) {
  RunSummary summary;
  summary.folder = folder;
  auto events = read_journal(folder.journal());
  auto state = events ? replay(*events) : Result<RunState>(tl::make_unexpected(events.error()));
  if (!state) {
    summary.state = "unreadable: " + state.error().message;
    return summary;
  }
  summary.task = state->task_name;
  summary.device = state->device;
  summary.candidates = state->tree.size() - 1;
  if (auto best = state->tree.best()) summary.best_speedup = state->tree.at(*best).speedup;
  summary.state = state->finished ? fmt::format("finished: {}", name_of(state->finished->why))
                                  : "running or interrupted";
  return summary;
}

}  // namespace kp
