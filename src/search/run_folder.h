#pragma once
// A run's folder:
//
//   runs/relu-20261201-093000/
//     journal.jsonl   every event (journal.h); the only file that resume needs
//     best.cu         the fastest correct candidate so far; written anew on resume
//     mailbox/        prompts and replies of the mailbox provider, unless it was given a folder
//     *.log           what the oracle, the runner and the tools print
#include <string>
#include <vector>

#include "base/files.h"
#include "search/state.h"

namespace kp {

struct RunFolder {
  fs::path path;

  fs::path journal() const { return path / "journal.jsonl"; }
  fs::path best() const { return path / "best.cu"; }
  fs::path mailbox() const { return path / "mailbox"; }
  fs::path log(std::string_view name) const { return path / (std::string(name) + ".log"); }
};

// Makes <root>/<task>-<UTC time>/, with -2, -3, ... when that is taken.
Result<RunFolder> make_run_folder(const fs::path& root, std::string_view task);

// `name` is a run's folder, the journal in it, a name under `root`, or "last": the newest there. A
// name that fits no run is an Error with the nearest one.
Result<RunFolder> find_run_folder(const fs::path& root, const std::string& name);

// What `kernelpro runs` shows of one.
struct RunSummary {
  RunFolder folder;
  std::string task, device;
  int candidates = 0;  // judged
  double best_speedup = 0;
  std::string state;  // "running or interrupted", "finished: iterations", "unreadable: ..."
};

// Folders under `root` that hold a journal, oldest first. A missing root has none.
std::vector<RunFolder> run_folders(const fs::path& root);
RunSummary summarize_run(const RunFolder& folder);

}  // namespace kp
