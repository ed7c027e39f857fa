#include "search/decide.h"

#include <fmt/format.h>

#include <algorithm>

#include "search/policy.h"

namespace kp {

namespace {

// Calls of the batch that was planned last: no other can be unanswered.
std::vector<std::size_t> batch_calls(const RunState& state, CallRecord::Status status) {
  std::vector<std::size_t> found;
  std::size_t first = state.calls.size() - static_cast<std::size_t>(state.planned);
  for (std::size_t i = first; i < state.calls.size(); ++i)
    if (state.calls[i].status == status) found.push_back(i);
  return found;
}

std::optional<Finished> used_up(const RunState& state) {
  const Budget& budget = state.options.budget;
  std::int64_t tokens = state.tokens_in + state.tokens_out;
  if (budget.tokens > 0 && tokens >= budget.tokens)
    return Finished{FinishReason::tokens,
                    fmt::format("{} of {} tokens are used", tokens, budget.tokens)};
  if (budget.minutes > 0 && state.active_s >= budget.minutes * 60)
    return Finished{FinishReason::minutes, fmt::format("{:.1f} of {:.1f} minutes are used",
                                                       state.active_s / 60, budget.minutes)};
  return std::nullopt;
}

// The next proposal of `iteration`, or what must be known before it can be planned.
Step plan_iteration(const RunState& state, int iteration) {
  std::optional<NodeId> chosen = state.tree.select(state.options, state.seed, state.calls.size());
  ProposalPlan plan;
  plan.iteration = iteration;
  if (!chosen) return plan;  // every branch is closed: start anew from the task
  const Node& node = state.tree.at(*chosen);
  if (node.correct && !state.record(*chosen).diagnosed) return DiagnoseNode{*chosen};
  plan.parent = *chosen;
  plan.act = node.correct ? Act::improve : Act::repair;
  if (!node.correct) return plan;
  plan.directive = choose_directive(state, *chosen);
  if (plan.directive >= 0) {
    const Directive& d = state.record(*chosen).directives[static_cast<std::size_t>(plan.directive)];
    plan.weight = directive_weight(state.ledger.calibrated(d.tool, d.predicted_gain, state.options),
                                   d.confidence);
  }
  return plan;
}

}  // namespace

int choose_directive(const RunState& state, NodeId node) {
  const std::vector<Directive>& directives = state.record(node).directives;
  if (directives.empty()) return -1;
  std::vector<int> uses(directives.size(), 0);
  auto use = [&](int directive) {
    if (directive >= 0 && static_cast<std::size_t>(directive) < uses.size())
      ++uses[static_cast<std::size_t>(directive)];
  };
  for (NodeId child : state.tree.at(node).children) use(state.tree.at(child).directive);
  for (auto status : {CallRecord::Status::asked, CallRecord::Status::replied})
    for (std::size_t i : batch_calls(state, status))
      if (state.calls[i].parent == node) use(state.calls[i].directive);
  auto worth = [&](std::size_t i) {
    const Directive& d = directives[i];
    return state.ledger.calibrated(d.tool, d.predicted_gain, state.options) * d.confidence;
  };
  std::size_t best = 0;
  for (std::size_t i = 1; i < directives.size(); ++i)
    if (uses[i] < uses[best] || (uses[i] == uses[best] && worth(i) > worth(best))) best = i;
  return static_cast<int>(best);
}

Step next_step(const RunState& state) {
  if (state.environment_failures > 1) {
    return Finished{FinishReason::environment, state.last_failure.text()};
  }
  if (!state.start.empty()) {
    if (!state.start_judged) return JudgeStart{};
    if (state.tree.at(1).correct && !state.record(1).diagnosed) return DiagnoseNode{1};
  }
  if (auto replied = batch_calls(state, CallRecord::Status::replied); !replied.empty())
    return JudgeCall{replied.front()};
  if (state.failures_in_a_row >= state.options.failures_in_a_row)
    return Finished{
        FinishReason::provider,
        fmt::format("{} calls of {} failed in a row; the last: {}", state.failures_in_a_row,
                    state.provider, state.last_failure.text())};
  auto waiting = batch_calls(state, CallRecord::Status::asked);
  for (std::size_t i : waiting)
    if (state.calls[i].failures >= 2 * state.options.failures_in_a_row) return DropCall{i};
  if (auto finished = used_up(state)) return *finished;

  if (state.iteration == 0 && state.planned < state.options.seeds) return ProposalPlan{};
  if (state.iteration > 0 && state.planned < state.options.candidates)
    return plan_iteration(state, state.iteration);
  if (!waiting.empty()) {
    std::stable_sort(waiting.begin(), waiting.end(), [&](std::size_t a, std::size_t b) {
      return state.calls[a].failures < state.calls[b].failures;
    });
    return AskFor{std::move(waiting)};
  }
  if (state.iteration < state.options.budget.iterations)
    return plan_iteration(state, state.iteration + 1);
  if (auto best = state.tree.best(); best && !state.record(*best).diagnosed)
    return DiagnoseNode{*best};
  return Finished{FinishReason::iterations,
                  fmt::format("{} iterations are done", state.options.budget.iterations)};
}

}  // namespace kp
