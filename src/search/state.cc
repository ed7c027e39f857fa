#include "search/state.h"

#include <fmt/format.h>

#include <array>

#include "base/text.h"
#include "search/events.h"
#include "search/policy.h"

namespace kp {

namespace {

constexpr std::array<std::pair<FinishReason, std::string_view>, 7> kReasons = {{
    {FinishReason::iterations, "iterations"},
    {FinishReason::tokens, "tokens"},
    {FinishReason::minutes, "minutes"},
    {FinishReason::stopped, "stopped"},
    {FinishReason::waiting, "waiting"},
    {FinishReason::provider, "provider"},
    {FinishReason::environment, "environment"},
}};

const Json& member(const Json& event, const char* key) {
  static const Json null;
  auto it = event.find(key);
  return it == event.end() ? null : *it;
}

Error error_of(const Json& event) {
  return {string_or(event, "message", ""), string_or(event, "hint", "")};
}

Status run_started(RunState& state, const Json& event) {
  if (state.started) return fail("the run started twice");
  state.started = true;
  KP_ASSIGN(std::int64_t seed, get_int(event, "seed", "run_started"));
  state.seed = static_cast<std::uint64_t>(seed);
  const Json& task = member(event, "task");
  KP_ASSIGN(state.task_name, get_string(task, "name", "run_started.task"));
  KP_ASSIGN(state.task_path, get_string(task, "path", "run_started.task"));
  KP_ASSIGN(state.task_hash, get_string(task, "hash", "run_started.task"));
  state.device = string_or(event, "device", "");
  state.precision = string_or(event, "precision", "");
  state.provider = string_or(event, "provider", "");
  state.roofline = roofline_from(member(event, "roofline"));
  state.options = search_options_from_json(member(event, "options"));
  state.start = string_or(event, "start", "");
  return {};
}

Status run_resumed(RunState& state, const Json& event) {
  if (member(event, "budget").is_object())
    state.options.budget = budget_from_json(member(event, "budget"));
  state.provider = string_or(event, "provider", state.provider);
  state.failures_in_a_row = 0;
  state.environment_failures = 0;
  state.finished.reset();
  return {};
}

Status asked(RunState& state, const Json& event) {
  CallRecord call;
  KP_ASSIGN(call.id, get_string(event, "call", "asked"));
  KP_ASSIGN(std::int64_t iteration, get_int(event, "iteration", "asked"));
  KP_ASSIGN(std::string act, get_string(event, "act", "asked"));
  KP_ASSIGN(call.act, parse_act(act));
  KP_ASSIGN(std::int64_t parent, get_int(event, "parent", "asked"));
  if (!state.tree.has(static_cast<NodeId>(parent)))
    return fail(fmt::format("node {} is not there yet", parent));
  call.iteration = static_cast<int>(iteration);
  call.parent = static_cast<NodeId>(parent);
  call.directive = static_cast<int>(int_or(event, "directive", -1));
  call.weight = double_or(event, "weight", 1);
  call.prompt = prompt_from(member(event, "prompt"), call.act);
  if (state.find_call(call.id) != nullptr)
    return fail(fmt::format("call {} was asked twice", call.id));
  if (call.iteration != state.iteration) state.planned = 0;
  state.iteration = call.iteration;
  ++state.planned;
  state.tree.begin_call(call.parent);
  state.calls.push_back(std::move(call));
  return {};
}

Result<CallRecord*> call_in(RunState& state, const Json& event, CallRecord::Status status) {
  KP_ASSIGN(std::string id, get_string(event, "call", string_or(event, "event", "")));
  CallRecord* call = state.find_call(id);
  if (call == nullptr) return fail(fmt::format("call {} was never asked", id));
  if (call->status != status)
    return fail(fmt::format("call {} was not due for this ({} events too late)", id,
                            static_cast<int>(call->status)));
  return call;
}

Status proposal(RunState& state, const Json& event) {
  KP_ASSIGN(CallRecord * call, call_in(state, event, CallRecord::Status::asked));
  const Json& given = member(event, "reply");
  Reply reply;
  KP_ASSIGN(reply.text, get_string(given, "text", "proposal.reply"));
  reply.model = string_or(given, "model", "");
  reply.tokens_in = int_or(given, "tokens_in", 0);
  reply.tokens_out = int_or(given, "tokens_out", 0);
  reply.seconds = double_or(given, "seconds", 0);
  state.tokens_in += reply.tokens_in;
  state.tokens_out += reply.tokens_out;
  state.failures_in_a_row = 0;
  call->status = CallRecord::Status::replied;
  call->reply = std::move(reply);
  call->prompt = {};
  return {};
}

Status call_failed(RunState& state, const Json& event) {
  KP_ASSIGN(CallRecord * call, call_in(state, event, CallRecord::Status::asked));
  ++call->failures;
  ++state.failures_in_a_row;
  state.last_failure = error_of(event);
  return {};
}

Status call_dropped(RunState& state, const Json& event) {
  KP_ASSIGN(CallRecord * call, call_in(state, event, CallRecord::Status::asked));
  call->status = CallRecord::Status::dropped;
  call->prompt = {};
  state.tree.end_call(call->parent);
  return {};
}

// Fills what the verdict decides.
void take_verdict(RunState& state, Node& node, const Verdict& verdict) {
  node.correct = verdict.correct();
  if (node.correct) {
    node.speedup = verdict.speedup().value_or(0);
    node.speedup_ci = verdict.speedup_ci95.value_or(Interval{});
  }
  double baseline = verdict.baselines.empty() ? 0 : verdict.baselines.front().timing.median_ms;
  double limit = speedup_at_roofline(baseline, state.roofline.speed_of_light_ms, state.options);
  node.reward = log_reward(node.correct, node.speedup, limit);
  if (verdict.outcome == Outcome::dishonest) node.closed = "dishonest";
  for (const auto& [stage, seconds] : verdict.stages)
    if (!starts_with(stage, " "))
      state.evaluation_s += seconds;  // parts are in their stage already
  ++state.evaluated;
}

Status judged(RunState& state, const Json& event) {
  KP_ASSIGN(std::int64_t id, get_int(event, "node", "judged"));
  if (id != state.tree.size())
    return fail(fmt::format("node {} comes where {} is due", id, state.tree.size()));
  Node node;
  NodeRecord record;
  record.call = string_or(event, "call", "");
  if (record.call.empty()) {
    if (state.start_judged || state.start.empty()) return fail("no starting candidate was due");
    state.start_judged = true;
  } else {
    KP_ASSIGN(CallRecord * call, call_in(state, event, CallRecord::Status::replied));
    call->status = CallRecord::Status::judged;
    call->reply.reset();
    node.parent = call->parent;
    node.act = call->act;
    node.directive = call->directive;
    node.iteration = call->iteration;
    node.weight = call->weight;
    state.tree.end_call(call->parent);
  }
  if (node.parent < 0) node.parent = kRoot;
  node.candidate = string_or(event, "candidate", "");
  node.closed = string_or(event, "closed", "");
  record.idea = string_or(event, "idea", "");
  record.source = string_or(event, "source", "");
  record.followed = followed_from(member(event, "followed"));
  if (member(event, "verdict").is_object()) {
    KP_ASSIGN(record.verdict, verdict_from_json(member(event, "verdict")));
    take_verdict(state, node, *record.verdict);
  } else if (node.closed.empty()) {
    return fail("\"verdict\" is missing");
  }
  if (!node.correct) node.weight *= state.options.broken_prior;
  if (record.followed) state.ledger.record(*record.followed);
  state.environment_failures = 0;
  state.tree.add(std::move(node), state.options);
  state.records.push_back(std::move(record));
  return {};
}

Status diagnosed(RunState& state, const Json& event) {
  KP_ASSIGN(std::int64_t id, get_int(event, "node", "diagnosed"));
  if (id <= kRoot || !state.tree.has(static_cast<NodeId>(id)))
    return fail(fmt::format("node {} is not there", id));
  NodeRecord& record = state.records[static_cast<std::size_t>(id)];
  record.diagnosed = true;
  record.diagnosis_error = string_or(event, "error", "");
  record.roofline = roofline_from(member(event, "roofline"));
  record.directives.clear();
  for (const Json& json : member(event, "directives")) {
    KP_ASSIGN(Directive directive, directive_from_json(json));
    record.directives.push_back(std::move(directive));
  }
  state.environment_failures = 0;
  return {};
}

Status environment_failed(RunState& state, const Json& event) {
  ++state.environment_failures;
  state.last_failure = error_of(event);
  return {};
}

Status note(RunState& state, const Json& event) {
  state.notes.push_back(string_or(event, "text", ""));
  return {};
}

Status run_finished(RunState& state, const Json& event) {
  KP_ASSIGN(std::string why, get_string(event, "why", "run_finished"));
  Finished finished;
  KP_ASSIGN(finished.why, parse_finish_reason(why));
  finished.text = string_or(event, "text", "");
  state.finished = std::move(finished);
  return {};
}

struct Handler {
  std::string_view event;
  Status (*apply)(RunState&, const Json&);
};

constexpr Handler kHandlers[] = {
    {"run_started", run_started},
    {"run_resumed", run_resumed},
    {"asked", asked},
    {"proposal", proposal},
    {"call_failed", call_failed},
    {"call_dropped", call_dropped},
    {"judged", judged},
    {"diagnosed", diagnosed},
    {"note", note},
    {"environment_failed", environment_failed},
    {"run_finished", run_finished},
};

}  // namespace

std::string_view name_of(FinishReason reason) {
  for (const auto& [value, name] : kReasons)
    if (value == reason) return name;
  return "unknown";
}

Result<FinishReason> parse_finish_reason(std::string_view name) {
  for (const auto& [value, known] : kReasons)
    if (known == name) return value;
  return fail(fmt::format("reason \"{}\" for the end of a run is unknown", name));
}

Status RunState::apply(const Json& event) {
  std::string name = string_or(event, "event", "");
  if (!started && name != "run_started")
    return fail(fmt::format("{} comes before run_started", name));
  for (const Handler& handler : kHandlers) {
    if (handler.event != name) continue;
    KP_TRY(handler.apply(*this, event));
    active_s = double_or(event, "active_s", active_s);
    return {};
  }
  return fail(fmt::format("event \"{}\" is unknown", name),
              "a newer kernelpro may have written it");
}

CallRecord* RunState::find_call(std::string_view id) {
  for (auto it = calls.rbegin(); it != calls.rend(); ++it)  // it is nearly always a recent one
    if (it->id == id) return &*it;
  return nullptr;
}

std::optional<double> RunState::baseline_ms() const {
  for (const NodeRecord& r : records)
    if (r.verdict && !r.verdict->baselines.empty())
      return r.verdict->baselines.front().timing.median_ms;
  return std::nullopt;
}

Result<RunState> replay(const std::vector<Json>& events) {
  RunState state;
  int line = 1;  // of the journal: the first is its version
  for (const Json& event : events) {
    ++line;
    if (auto applied = state.apply(event); !applied)
      return fail(fmt::format("journal line {} ({}): {}", line, string_or(event, "event", "?"),
                              applied.error().message),
                  applied.error().hint.empty()
                      ? "the journal was changed by hand, or is not of one run"
                      : applied.error().hint);
  }
  return state;
}

}  // namespace kp
