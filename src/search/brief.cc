#include "search/brief.h"

#include <fmt/format.h>

#include <set>

#include "base/text.h"

namespace kp {

std::string result_line(const Node& node, const NodeRecord& record) {
  if (!record.verdict) return node.closed;
  if (!node.correct)
    return fmt::format("{}: {}", name_of(record.verdict->outcome), record.verdict->reason);
  if (!(node.speedup > 0)) return "correct, not timed";
  return fmt::format("{:.2f}x, correct", node.speedup);
}

std::vector<Attempt> attempts_for(const RunState& state, NodeId parent, int at_most) {
  std::set<NodeId> chosen;
  for (NodeId id : state.tree.path_to(parent)) chosen.insert(id);
  for (NodeId id : state.tree.at(parent).children) chosen.insert(id);
  if (auto best = state.tree.best()) chosen.insert(*best);
  while (static_cast<int>(chosen.size()) > std::max(at_most, 0)) chosen.erase(chosen.begin());
  std::vector<Attempt> attempts;
  for (NodeId id : chosen) {
    const Node& node = state.tree.at(id);
    const NodeRecord& record = state.record(id);
    attempts.push_back({node.candidate, record.idea, result_line(node, record)});
  }
  return attempts;
}

Prompt prompt_for(const RunState& state, World& world, const ProposalPlan& plan) {
  const SearchOptions& options = state.options;
  const std::size_t number = state.calls.size();
  PromptInput input;
  input.act = plan.act;
  input.task = &world.task();
  input.device = &world.device();
  input.ceilings = world.ceilings();
  input.cutlass = world.cutlass();
  input.attempts = attempts_for(state, plan.parent, options.attempts_shown);

  Candidate parent;
  Roofline roofline = world.roofline();
  if (plan.act == Act::seed) {
    const auto& temperatures = options.seed_temperatures;
    input.temperature = temperatures[number % temperatures.size()];
    const auto variations = seed_variations();
    input.variation = variations[number % variations.size()];
  } else {
    const NodeRecord& record = state.record(plan.parent);
    input.temperature =
        plan.act == Act::repair ? options.repair_temperature : options.improve_temperature;
    std::string name = "candidate " + state.tree.at(plan.parent).candidate;
    // A source that does not parse is shown as it is: the verdict says what is wrong with it.
    if (auto parsed = parse_candidate(record.source, name)) parent = std::move(*parsed);
    parent.id = state.tree.at(plan.parent).candidate;
    parent.source = record.source;
    parent.name = name;
    input.parent = &parent;
    input.verdict = record.verdict ? &*record.verdict : nullptr;
    input.directives = record.directives;
    input.follow = std::max(plan.directive, 0);
    if (record.diagnosed && record.diagnosis_error.empty()) {
      roofline.bound = record.roofline.bound;
      roofline.why = record.roofline.why;
    }
  }
  input.roofline = &roofline;
  return make_prompt(input, options.prompt_tokens);
}

}  // namespace kp
