#include "report/run.h"

#include <fmt/format.h>

#include <map>

#include "report/text.h"

namespace kp {

namespace {

std::string outcome_of(const RunState& state, NodeId id) {
  const NodeRecord& record = state.record(id);
  return record.verdict ? std::string(name_of(record.verdict->outcome)) : "not judged";
}

std::map<std::string, int> outcome_counts(const RunState& state) {
  std::map<std::string, int> counts;
  for (const auto& node : state.tree.nodes())
    if (node.id != kRoot) ++counts[outcome_of(state, node.id)];
  return counts;
}

// How a node came to be: "2 improve, follows vectorization (at most 1.40x, gave 1.35x)".
std::string step_text(const RunState& state, NodeId id) {
  const Node& node = state.tree.at(id);
  const NodeRecord& record = state.record(id);
  std::string out = record.call.empty() ? "start" : std::string(name_of(node.act));
  if (record.followed) {
    const Followed& f = *record.followed;
    out += fmt::format(", follows {} ({}; at most {:.2f}x", f.tool, f.cause, f.predicted);
    out += f.realised ? fmt::format(", gave {:.2f}x)", *f.realised) : ", broke)";
  }
  out += node.correct ? fmt::format(": {:.2f}x", node.speedup) : ": " + outcome_of(state, id);
  if (!record.idea.empty()) out += "  " + record.idea;
  return out;
}

double seconds_each(const RunState& state) {
  return state.evaluated > 0 ? state.evaluation_s / state.evaluated : 0;
}

}  // namespace

std::string progress_line(const RunState& state, NodeId id) {
  const Node& node = state.tree.at(id);
  const NodeRecord& record = state.record(id);
  std::string out =
      fmt::format("[{:>3}] iteration {:<3} {:<8} {:<14}", id, node.iteration,
                  record.call.empty() ? "start" : name_of(node.act), outcome_of(state, id));
  if (record.verdict && record.verdict->timing)
    out += fmt::format(" {:.4f} ms {:.2f}x", record.verdict->timing->median_ms, node.speedup);
  if (auto best = state.tree.best())
    out += fmt::format("  best {:.2f}x", state.tree.at(*best).speedup);
  if (state.tokens_in + state.tokens_out > 0)
    out += fmt::format("  {} tokens", state.tokens_in + state.tokens_out);
  if (record.verdict && !record.verdict->correct()) out += "  " + record.verdict->reason;
  if (!node.closed.empty()) out += "  closed: " + node.closed;
  return out;
}

std::string describe_run(const RunState& state, const RunFolder& folder) {
  std::string out =
      fmt::format("{} on {}, precision {}\n", state.task_name, state.device, state.precision);
  if (!state.roofline.why.empty()) out += state.roofline.why + "\n";
  auto best = state.tree.best();
  if (best) {
    const NodeRecord& record = state.record(*best);
    out += fmt::format("\nBest kernel: candidate {} in {}\n{}\n", state.tree.at(*best).candidate,
                       folder.best().string(), describe(*record.verdict, 0));
    if (double light = state.roofline.speed_of_light_ms; light > 0) {
      double share = light / record.verdict->timing->median_ms;
      out += share <= 1.05
                 ? fmt::format("  {:.0f} % of the speed of light\n", 100 * share)
                 : fmt::format(
                       "  {:.1f} times the speed of light of the reference's own arithmetic: "
                       "this kernel does less work than the reference\n",
                       share);
    }
    out += "\nHow it was found:\n";
    for (NodeId id : state.tree.path_to(*best)) out += "  " + step_text(state, id) + "\n";
  } else {
    out += "\nNo correct candidate yet.\n";
  }
  out += fmt::format("\n{} proposals judged:", state.tree.size() - 1);
  for (const auto& [outcome, count] : outcome_counts(state))
    out += fmt::format(" {} {}", count, outcome);
  out += fmt::format("; {:.2f} s each, {:.1f} s of work, {} tokens\n", seconds_each(state),
                     state.active_s, state.tokens_in + state.tokens_out);
  for (const auto& row : state.ledger.rows())
    out += fmt::format("  {} ({}): followed {}, correct {}\n", row.tool, row.bound, row.followed,
                       row.measured);
  if (state.finished)
    out += fmt::format("Ended: {}. {}\n", name_of(state.finished->why), state.finished->text);
  out += fmt::format("Journal: {}", folder.journal().string());
  return out;
}

Json report_json(const RunState& state, const RunFolder& folder) {
  Json nodes = Json::array();
  for (const auto& node : state.tree.nodes()) {
    if (node.id == kRoot) continue;
    const NodeRecord& record = state.record(node.id);
    Json entry = {{"node", node.id},
                  {"parent", node.parent},
                  {"act", record.call.empty() ? "start" : name_of(node.act)},
                  {"iteration", node.iteration},
                  {"candidate", node.candidate},
                  {"outcome", outcome_of(state, node.id)},
                  {"speedup", node.speedup},
                  {"idea", record.idea}};
    if (record.verdict) entry["reason"] = record.verdict->reason;
    if (record.followed) {
      entry["followed"] = {{"tool", record.followed->tool},
                           {"cause", record.followed->cause},
                           {"predicted", record.followed->predicted}};
      if (record.followed->realised) entry["followed"]["realised"] = *record.followed->realised;
    }
    nodes.push_back(std::move(entry));
  }
  Json out = {{"task", state.task_name},
              {"device", state.device},
              {"precision", state.precision},
              {"folder", folder.path.string()},
              {"judged", state.tree.size() - 1},
              {"outcomes", outcome_counts(state)},
              {"seconds_each", seconds_each(state)},
              {"active_s", state.active_s},
              {"tokens_in", state.tokens_in},
              {"tokens_out", state.tokens_out},
              {"speed_of_light_ms", state.roofline.speed_of_light_ms},
              {"nodes", nodes}};
  if (auto best = state.tree.best()) {
    out["best"] = {{"node", *best},
                   {"speedup", state.tree.at(*best).speedup},
                   {"file", folder.best().string()},
                   {"verdict", to_json(*state.record(*best).verdict)}};
  }
  if (state.finished)
    out["finished"] = {{"why", name_of(state.finished->why)}, {"text", state.finished->text}};
  return out;
}

}  // namespace kp
