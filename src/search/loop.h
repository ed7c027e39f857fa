#pragma once
// The loop: the only place where the ring from proposal to prompt closes.
#include <atomic>
#include <functional>
#include <optional>
#include <string>

#include "search/run_folder.h"
#include "search/state.h"
#include "search/world.h"

namespace kp {

struct RunContext {
  World& world;
  RunFolder folder;
  SearchOptions options;  // of a new run; a resumed one keeps its own
  // Candidate to start from (a native task's baseline): node 1, judged and diagnosed first. Of a
  // new run only.
  std::optional<Candidate> start;
  std::uint64_t seed = 0;                   // of a new run; 0: drawn
  std::optional<Budget> budget;             // of a resumed run; none: as it was
  const std::atomic<bool>* stop = nullptr;  // set by a signal handler: end cleanly between steps
  std::function<double()> clock;            // seconds; empty: now_s (tests give their own)
};

struct RunOutcome {
  Finished finished;
  RunState state;
};

// Starts the run, or goes on with it when the folder's journal has events. Error: the journal
// cannot be read or written, is of another task or device, or the options make no sense; what was
// journalled stays. Everything else, also a provider or a GPU that fails, is a Finished.
Result<RunOutcome> optimize(const RunContext& context);

// What a journal's task is known by: everything but its path and notes.
std::string task_hash(const Task& task);

}  // namespace kp
