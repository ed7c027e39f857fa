#pragma once
// The state of a run: what its events add up to. apply() is the only way to change it, live and in
// replay, so a resumed run is the run that was interrupted.
//
// Events (each also has "active_s": seconds of work so far, over all starts of the run):
//   run_started         time, seed, task {name, path, hash}, device, precision, provider, roofline,
//                       options, start (source of the starting candidate, or null)
//   run_resumed         time, budget (null: as before)
//   asked               call, iteration, act, parent, directive, weight, prompt
//   proposal            call, reply {text, model, tokens_in, tokens_out, seconds}: what the
//                       provider `replay` reads
//   call_failed         call, message, hint
//   call_dropped        call, why
//   judged              call ("" for the starting candidate), node, candidate, idea, source,
//                       verdict (null: nothing to judge, see closed), closed, followed
//   diagnosed           node, directives, roofline, findings, profile, error
//   environment_failed  what, message, hint
//   note                text
//   run_finished        why, text
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "llm/provider.h"
#include "profile/profile.h"
#include "search/ledger.h"
#include "search/tree.h"
#include "verdict/verdict.h"

namespace kp {

enum class FinishReason {
  iterations,   // the whole budget of iterations was used
  tokens,       // budget
  minutes,      // budget
  stopped,      // by the user (Ctrl-C)
  waiting,      // replies are missing (mailbox that does not wait)
  provider,     // too many calls failed in a row
  environment,  // evaluation failed twice for a reason that is not the candidate's
};
std::string_view name_of(FinishReason reason);
Result<FinishReason> parse_finish_reason(std::string_view name);

struct Finished {
  FinishReason why = FinishReason::iterations;
  std::string text;  // in words, with what to do next where something can be done
};

// A proposal that was asked for.
struct CallRecord {
  enum class Status { asked, replied, judged, dropped } status = Status::asked;
  std::string id;
  int iteration = 0;
  Act act = Act::seed;
  NodeId parent = kRoot;
  int directive = -1;
  double weight = 1;
  Prompt prompt;  // emptied once the reply is there
  std::optional<Reply> reply;
  int failures = 0;
};

// What is known of a node besides what the policy needs. Index = NodeId; the root's is empty.
struct NodeRecord {
  std::string call;  // empty: the starting candidate
  std::string idea;  // what the proposal says that it changed
  std::string source;
  std::optional<Verdict> verdict;  // none: nothing to judge, Node::closed says why
  std::optional<Followed> followed;

  bool diagnosed = false;
  std::string diagnosis_error;
  std::vector<Directive> directives;
  Roofline roofline;  // bound, speed_of_light_ms and why only
};

struct RunState {
  // From run_started.
  bool started = false;
  SearchOptions options;
  std::uint64_t seed = 0;
  std::string task_name, task_path, task_hash, device, precision, provider;
  Roofline roofline;  // bound, speed_of_light_ms and why only
  std::string start;  // source; empty: none

  Tree tree;
  std::vector<NodeRecord> records = std::vector<NodeRecord>(1);
  std::vector<CallRecord> calls;
  Ledger ledger;

  bool start_judged = false;
  int iteration = 0;  // that was planned last; 0: seeds
  int planned = 0;    // proposals planned in it
  std::int64_t tokens_in = 0, tokens_out = 0;
  double active_s = 0;
  double evaluation_s = 0;  // sum over the verdicts' stages
  int evaluated = 0;
  int failures_in_a_row = 0;     // of provider calls
  int environment_failures = 0;  // in a row
  Error last_failure;            // of either
  std::vector<std::string> notes;
  std::optional<Finished> finished;

  // Error: the event does not fit what came before (a damaged or foreign journal); the state is
  // then not to be used.
  Status apply(const Json& event);

  CallRecord* find_call(std::string_view id);
  const NodeRecord& record(NodeId id) const { return records[static_cast<std::size_t>(id)]; }
  std::optional<double> baseline_ms() const;  // of the first verdict that has one
};

// Applies all events; the Error says which one does not fit.
Result<RunState> replay(const std::vector<Json>& events);

}  // namespace kp
