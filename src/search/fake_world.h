#pragma once
// For tests: a world without a GPU or a model. A candidate's three constants decide its time, a
// fourth how it is broken; the provider answers by a hash of the prompt, so everything is
// deterministic.
#include <functional>
#include <map>
#include <set>
#include <string>

#include "search/loop.h"

namespace kp {

// width, tile and stages from 0 to 3 each; all at 3 is the best: 2.5 ms against a baseline of 10.
struct FakeKernel {
  int width = 0, tile = 0, stages = 0;
  int bug = 0;  // 1: does not compile, 2: wrong, 3: plan that does not parse, 4: cheats
  double ms() const { return 10 / (1 + 0.5 * width + 0.3 * tile + 0.2 * stages); }
  std::string source() const;
  static FakeKernel read(std::string_view text);  // of the last source in it
};

struct FakeProvider : Provider {
  std::string name() const override { return "fake:landscape"; }
  bool time_counts() const override { return counts; }
  Result<std::optional<Reply>> ask(const Call& call) override;

  bool counts = true;
  bool waits = true;                   // false: only `arrived` calls have a reply
  std::set<std::string> arrived;       // call ids
  std::set<std::string> unreadable;    // replies without code
  std::map<std::string, int> failing;  // so many failures of that call are due; "*": of any
  int bug_percent = 30;
  std::int64_t tokens = 100;           // each way, a call
  std::function<void()> before_reply;  // may move a clock
  std::vector<std::string> asked;      // call ids, in order, also those that were pending
};

struct FakeWorld : World {
  FakeWorld();
  const Task& task() override { return task_; }
  const DeviceInfo& device() override { return device_; }
  const Ceilings* ceilings() override { return nullptr; }
  const Roofline& roofline() override { return roofline_; }
  bool cutlass() override { return false; }
  Provider& provider() override { return provider_; }
  Result<Verdict> evaluate(const Candidate& candidate) override;
  Result<Diagnosis> diagnose(const Candidate& candidate, const Verdict& verdict) override;
  void on_judged(const RunState& state, NodeId node) override;

  Task task_;
  DeviceInfo device_;
  Roofline roofline_;
  FakeProvider provider_;
  int evaluate_errors = 0;  // so many are due
  int diagnose_errors = 0;
  std::map<std::string, int> evaluated;  // candidate id -> how often
  std::vector<NodeId> diagnosed;         // not by id: how many were asked for, in order
  std::function<void(const RunState&, NodeId)> when_judged;
};

// All of the tree that decisions depend on, for comparing runs.
std::string digest(const RunState& state);

// A folder in memory where there is one: runs sync after every event.
TempFolder memory_folder(const std::string& name);

// 4 seeds, 6 iterations of 2.
SearchOptions small_options();

}  // namespace kp
