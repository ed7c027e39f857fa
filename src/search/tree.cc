#include "search/tree.h"

#include <fmt/format.h>

#include <algorithm>

#include "search/policy.h"
#include "verdict/gain.h"

namespace kp {

std::optional<std::string> dead_end(const Node& node, const SearchOptions& options) {
  if (node.id == kRoot) return std::nullopt;
  if (node.correct) {
    if (node.visits < options.no_gain_visits) return std::nullopt;
    if (node.best_speedup_below >= node.speedup * options.min_gain && node.correct_below > 0)
      return std::nullopt;
    return fmt::format("no gain in {} visits", node.visits);
  }
  if (node.correct_below > 0) return std::nullopt;
  if (node.broken_in_a_row >= options.broken_in_a_row)
    return fmt::format("{} broken in a row", node.broken_in_a_row);
  return std::nullopt;
}

bool clearly_faster(const Node& now, const Node& before) {
  double low = now.speedup_ci.low > 0 ? now.speedup_ci.low : now.speedup;
  double high = before.speedup_ci.high > 0 ? before.speedup_ci.high : before.speedup;
  return low > high && now.speedup >= before.speedup * (1 + kLeastGain);
}

Tree::Tree() : nodes_(1) {}

std::optional<NodeId> Tree::find(const std::string& candidate) const {
  auto it = by_candidate_.find(candidate);
  if (candidate.empty() || it == by_candidate_.end()) return std::nullopt;
  return it->second;
}

void Tree::begin_call(NodeId parent) {
  ++node(parent).in_flight;
  for (NodeId id = parent; id >= 0; id = at(id).parent) ++node(id).virtual_loss;
}

void Tree::end_call(NodeId parent) {
  KP_CHECK(at(parent).in_flight > 0);
  --node(parent).in_flight;
  for (NodeId id = parent; id >= 0; id = at(id).parent) --node(id).virtual_loss;
}

NodeId Tree::add(Node added, const SearchOptions& options) {
  KP_CHECK(has(added.parent));
  NodeId id = added.id = size();
  const Node& parent = at(added.parent);
  if (!added.correct)
    added.broken_in_a_row =
        1 + (parent.id != kRoot && !parent.correct ? parent.broken_in_a_row : 0);
  if (auto known = find(added.candidate)) {
    added.closed = fmt::format("same as node {}", *known);
    added.reward = 0;  // nothing was learnt
    added.correct = false;
    added.speedup = 0;
  } else if (!added.candidate.empty()) {
    by_candidate_[added.candidate] = id;
  }
  node(added.parent).children.push_back(id);
  nodes_.push_back(std::move(added));
  const Node self = at(id);
  for (NodeId up = id; up >= 0; up = at(up).parent) {
    Node& n = node(up);
    ++n.visits;
    n.reward_sum += self.reward;
    n.best_reward = std::max(n.best_reward, self.reward);
    if (up != id && self.correct) {
      ++n.correct_below;
      n.best_speedup_below = std::max(n.best_speedup_below, self.speedup);
    }
    if (n.closed.empty()) n.closed = dead_end(n, options).value_or("");
  }
  if (self.correct && self.speedup > 0 && (!best_ || clearly_faster(self, at(*best_)))) best_ = id;
  // A broken node whose repairs all led to dead ends is one itself.
  for (NodeId up = id; up > kRoot; up = at(up).parent) {
    Node& n = node(up);
    if (!n.closed.empty() || n.correct || n.correct_below > 0) continue;
    if (static_cast<int>(n.children.size()) < options.repairs_per_node) continue;
    if (std::all_of(n.children.begin(), n.children.end(),
                    [&](NodeId c) { return !at(c).closed.empty(); }))
      n.closed = fmt::format("{} repairs led nowhere", n.children.size());
  }
  return id;
}

bool Tree::expandable(const Node& n, const SearchOptions& options) const {
  if (n.id == kRoot || !n.closed.empty() || n.candidate.empty()) return false;
  if (n.correct) return true;
  int repairs = static_cast<int>(n.children.size()) + n.in_flight;
  return n.correct_below == 0 && repairs < options.repairs_per_node;
}

bool Tree::has_room(NodeId id, const SearchOptions& options) const {
  const Node& n = at(id);
  return expandable(n, options) && static_cast<int>(n.children.size()) + n.in_flight <
                                       child_limit(n.correct, n.visits, options);
}

double Tree::value(NodeId id, const SearchOptions& options) const {
  const Node& n = at(id);
  return node_value(n.reward_sum, n.best_reward, n.visits, n.virtual_loss, options.best_share);
}

NodeId Tree::descend(const std::vector<char>& reachable, const SearchOptions& options,
                     std::uint64_t seed, std::uint64_t position) const {
  NodeId here = kRoot;
  while (!has_room(here, options)) {
    const Node& n = at(here);
    std::vector<double> weights;
    weights.reserve(n.children.size());
    for (NodeId c : n.children) weights.push_back(at(c).weight);
    std::vector<double> prior = priors(weights);
    NodeId chosen = -1;
    double best_score = -1, best_tie = -1;
    for (std::size_t i = 0; i < n.children.size(); ++i) {
      const Node& c = at(n.children[i]);
      if (!reachable[static_cast<std::size_t>(c.id)]) continue;
      double score = puct(value(c.id, options), prior[i], n.visits + n.virtual_loss,
                          c.visits + c.virtual_loss, options.exploration);
      double tie = tie_break(seed, position, static_cast<std::uint64_t>(c.id));
      if (score > best_score || (score == best_score && tie > best_tie)) {
        chosen = c.id;
        best_score = score;
        best_tie = tie;
      }
    }
    KP_CHECK(chosen >= 0);  // a reachable node without room has a reachable child
    here = chosen;
  }
  return here;
}

std::optional<NodeId> Tree::select(const SearchOptions& options, std::uint64_t seed,
                                   std::uint64_t position) const {
  // Parents come before their children, so one pass from the end sees all that lies below.
  std::vector<char> reachable(nodes_.size(), 0);
  for (NodeId id = size() - 1; id >= 0; --id) {
    const Node& n = at(id);
    auto& mine = reachable[static_cast<std::size_t>(id)];
    if (!n.closed.empty()) {
      mine = 0;
      continue;
    }
    if (has_room(id, options)) mine = 1;
    if (mine && n.parent >= 0) reachable[static_cast<std::size_t>(n.parent)] = 1;
  }
  if (reachable[kRoot]) return descend(reachable, options, seed, position);

  std::vector<char> open(nodes_.size(), 1);  // neither closed nor below a closed node
  std::optional<NodeId> chosen;
  double best_value = -1;
  for (const Node& n : nodes_) {
    auto& mine = open[static_cast<std::size_t>(n.id)];
    mine = n.closed.empty() && (n.parent < 0 || open[static_cast<std::size_t>(n.parent)]);
    if (!mine || !expandable(n, options)) continue;
    double v = value(n.id, options);
    if (v > best_value) {
      chosen = n.id;
      best_value = v;
    }
  }
  return chosen;
}

std::optional<NodeId> Tree::best() const {
  return best_;
}

std::vector<NodeId> Tree::path_to(NodeId id) const {
  std::vector<NodeId> path;
  for (NodeId up = id; up > kRoot; up = at(up).parent) path.push_back(up);
  std::reverse(path.begin(), path.end());
  return path;
}

}  // namespace kp
