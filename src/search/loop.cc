#include "search/loop.h"

#include <fmt/format.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/rng.h"
#include "llm/reply.h"
#include "search/brief.h"
#include "search/decide.h"
#include "search/journal.h"

namespace kp {

namespace {

class Run {
 public:
  Run(const RunContext& context, Journal journal, RunState state)
      : context_(context),
        world_(context.world),
        journal_(std::move(journal)),
        state_(std::move(state)),
        clock_(context.clock ? context.clock : now_s) {
    started_at_ = clock_() - state_.active_s;
  }

  Status begin();
  Result<RunOutcome> go();

 private:
  Status record(Json event);
  Status start_new();
  Status resume();
  Status perform(const Step& step, std::optional<Finished>& finished);
  Status judge_source(const std::string& call, const std::string& source, const std::string& idea);
  Status judge_call(const CallRecord& call);
  Status diagnose(NodeId node);
  Status plan(const ProposalPlan& plan);
  Status ask(const AskFor& step, std::optional<Finished>& finished);
  void expect(const std::string& reply);
  Status record_judged(Json event);
  Json followed(const std::string& call, const Verdict& verdict) const;
  Status keep_best();

  const RunContext& context_;
  World& world_;
  Journal journal_;
  RunState state_;
  std::function<double()> clock_;
  double started_at_ = 0;  // on the clock, less what earlier sessions worked
  std::optional<NodeId> best_written_;
};

// The event as it will be read again is what changes the state.
Status Run::record(Json event) {
  event["active_s"] = clock_() - started_at_;
  KP_TRY(journal_.append(event));
  auto applied = state_.apply(journal_.events().back());
  if (!applied)
    std::fprintf(stderr, "kernelpro: %s: %s\n", string_or(event, "event", "?").c_str(),
                 applied.error().text().c_str());
  KP_CHECK(applied.has_value());  // the loop wrote an event that does not fit
  return {};
}

Status Run::begin() {
  return state_.started ? resume() : start_new();
}

Status Run::start_new() {
  KP_TRY(check_options(context_.options));
  const Task& task = world_.task();
  constexpr std::uint64_t kMask = (1ULL << 62) - 1;  // JSON and Python take it
  std::uint64_t seed = context_.seed != 0 ? context_.seed & kMask : secret_seed();
  return record({{"event", "run_started"},
                 {"time", utc_time()},
                 {"seed", seed},
                 {"task", {{"name", task.name}, {"path", task.path}, {"hash", task_hash(task)}}},
                 {"device", world_.device().name},
                 {"precision", std::string(name_of(task.precision))},
                 {"provider", world_.provider().name()},
                 {"roofline", roofline_json(world_.roofline())},
                 {"options", to_json(context_.options)},
                 {"start", context_.start ? Json(context_.start->source) : Json(nullptr)}});
}

Status Run::resume() {
  std::string journal = context_.folder.journal().string();
  if (state_.task_hash != task_hash(world_.task()))
    return fail(fmt::format("{}: the task ({}) is not as it was when the run started", journal,
                            world_.task().path),
                "give the task and precision that the run has, or start a new run");
  if (state_.device != world_.device().name)
    return fail(fmt::format("{}: the run was measured on {}; this is {}", journal, state_.device,
                            world_.device().name),
                "resume it on such a device, or start a new run here");
  Json budget = nullptr;
  if (context_.budget) {
    SearchOptions options = state_.options;
    options.budget = *context_.budget;
    KP_TRY(check_options(options));
    budget = to_json(*context_.budget);
  }
  return record({{"event", "run_resumed"},
                 {"time", utc_time()},
                 {"provider", world_.provider().name()},
                 {"budget", budget}});
}

Result<RunOutcome> Run::go() {
  KP_TRY(keep_best());
  std::optional<Finished> finished;
  while (!finished) {
    if (context_.stop != nullptr && context_.stop->load())
      finished = Finished{FinishReason::stopped, "stopped by the user"};
    else
      KP_TRY(perform(next_step(state_), finished));
  }
  KP_TRY(record(finished_event(*finished)));
  return RunOutcome{*finished, std::move(state_)};
}

Status Run::perform(const Step& step, std::optional<Finished>& finished) {
  if (const auto* end = std::get_if<Finished>(&step)) {
    finished = *end;
    return {};
  }
  if (std::holds_alternative<JudgeStart>(step)) {
    world_.on_step("judging the starting candidate");
    return judge_source("", state_.start, "starting candidate");
  }
  if (const auto* judge = std::get_if<JudgeCall>(&step))
    return judge_call(state_.calls[judge->call]);
  if (const auto* node = std::get_if<DiagnoseNode>(&step)) return diagnose(node->node);
  if (const auto* planned = std::get_if<ProposalPlan>(&step)) return plan(*planned);
  if (const auto* drop = std::get_if<DropCall>(&step)) {
    const CallRecord& call = state_.calls[drop->call];
    return record({{"event", "call_dropped"},
                   {"call", call.id},
                   {"why", fmt::format("it failed {} times", call.failures)}});
  }
  return ask(std::get<AskFor>(step), finished);
}

Status Run::judge_call(const CallRecord& call) {
  world_.on_step(fmt::format("judging proposal {}", call.id));
  auto proposal = read_reply(call.reply->text);
  if (!proposal)
    return record_judged({{"event", "judged"},
                          {"call", call.id},
                          {"node", state_.tree.size()},
                          {"verdict", nullptr},
                          {"closed", "no candidate in the reply: " + proposal.error().message}});
  return judge_source(call.id, proposal->source, proposal->idea);
}

Status Run::judge_source(const std::string& call, const std::string& source,
                         const std::string& idea) {
  std::string id = sha256_hex(source).substr(0, 12);
  Json event = {{"event", "judged"}, {"call", call}, {"node", state_.tree.size()},
                {"candidate", id},   {"idea", idea}, {"source", source}};
  if (auto known = state_.tree.find(id)) {
    event["verdict"] = nullptr;
    event["closed"] = fmt::format("same as node {}", *known);
    return record_judged(std::move(event));
  }
  Verdict verdict;
  auto candidate = parse_candidate(source, "candidate " + id);
  if (candidate) {
    auto judged = world_.evaluate(*candidate);
    if (!judged) return record(failed_event("environment_failed", judged.error()));
    verdict = std::move(*judged);
  } else {
    verdict.outcome = Outcome::plan_error;
    verdict.reason = candidate.error().message;
    verdict.detail = candidate.error().text();
  }
  event["verdict"] = to_json(verdict);
  event["followed"] = followed(call, verdict);
  return record_judged(std::move(event));
}

Json Run::followed(const std::string& call_id, const Verdict& verdict) const {
  for (const CallRecord& call : state_.calls) {
    if (call.id != call_id || call.directive < 0) continue;
    const NodeRecord& parent = state_.record(call.parent);
    const Directive& d = parent.directives[static_cast<std::size_t>(call.directive)];
    Followed f{d.tool, d.cause, std::string(name_of(parent.roofline.bound)), d.predicted_gain, {}};
    if (verdict.correct() && verdict.timing && parent.verdict->timing &&
        verdict.timing->median_ms > 0)
      f.realised = parent.verdict->timing->median_ms / verdict.timing->median_ms;
    return to_json(f);
  }
  return nullptr;
}

Status Run::record_judged(Json event) {
  NodeId node = state_.tree.size();
  KP_TRY(record(std::move(event)));
  KP_TRY(keep_best());
  world_.on_judged(state_, node);
  return {};
}

Status Run::keep_best() {
  auto best = state_.tree.best();
  if (!best || best == best_written_) return {};
  KP_TRY(write_file(context_.folder.best(), state_.record(*best).source));
  best_written_ = best;
  return {};
}

Status Run::diagnose(NodeId node) {
  world_.on_step(fmt::format("profiling node {}", node));
  const NodeRecord& known = state_.record(node);
  KP_ASSIGN(Candidate candidate,
            parse_candidate(known.source, "candidate " + state_.tree.at(node).candidate));
  auto diagnosis = world_.diagnose(candidate, *known.verdict);
  if (diagnosis) return record(diagnosed_event(node, *diagnosis));
  // A node can be improved upon without a diagnosis; a GPU that is gone shows in the next verdict.
  if (state_.environment_failures > 0)
    return record(diagnosis_failed_event(node, diagnosis.error()));
  return record(failed_event("environment_failed", diagnosis.error()));
}

Status Run::plan(const ProposalPlan& planned) {
  std::string id = fmt::format("{:04}", state_.calls.size() + 1);
  return record(asked_event(id, planned, prompt_for(state_, world_, planned)));
}

void Run::expect(const std::string& reply) {
  auto proposal = read_reply(reply);
  if (!proposal) return;
  if (auto candidate = parse_candidate(proposal->source, "candidate")) world_.expect(*candidate);
}

Status Run::ask(const AskFor& step, std::optional<Finished>& finished) {
  for (std::size_t index : step.calls) {
    const CallRecord& call = state_.calls[index];
    world_.on_step(fmt::format("asking for proposal {}", call.id));
    double before = clock_();
    auto reply = world_.provider().ask(Call{call.id, call.prompt});
    if (!world_.provider().time_counts()) started_at_ += clock_() - before;
    if (!reply) {
      Json event = failed_event("call_failed", reply.error());
      event["call"] = call.id;
      return record(std::move(event));
    }
    if (*reply) {
      expect((*reply)->text);
      return record(proposal_event(call.id, **reply));
    }
    if (context_.stop != nullptr && context_.stop->load()) return {};
  }
  finished =
      Finished{FinishReason::waiting,
               fmt::format("waiting for {} {} ({})", step.calls.size(),
                           step.calls.size() == 1 ? "reply" : "replies", world_.provider().name())};
  return {};
}

}  // namespace

std::string task_hash(const Task& task) {
  Json json = to_json(task);
  json.erase("path");
  json.erase("notes");
  return sha256_hex(dump_json(json));
}

Result<RunOutcome> optimize(const RunContext& context) {
  KP_ASSIGN(Journal journal, Journal::open(context.folder.journal()));
  KP_ASSIGN(RunState state, replay(journal.events()));
  Run run(context, std::move(journal), std::move(state));
  KP_TRY(run.begin());
  return run.go();
}

}  // namespace kp
