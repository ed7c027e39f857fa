#pragma once
// The tree of a run: one node a judged proposal, under a root that is the task itself.
//
//   0 task ─┬─ 1 baseline (correct, 1.00x) ── 4 improve, follows d1 (correct, 1.8x)
//           ├─ 2 seed (compile_error) ── 3 repair (correct, 1.2x)
//           └─ 5 seed (same as 1: closed)
//
// A node holds what the policy needs; its text, verdict and diagnosis are in RunState (state.h).
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/stats.h"
#include "prompt/prompt.h"
#include "search/options.h"

namespace kp {

using NodeId = int;
inline constexpr NodeId kRoot = 0;

struct Node {
  NodeId id = kRoot;
  NodeId parent = -1;  // -1: the root
  Act act = Act::seed;
  int directive = -1;     // which of the parent's directives was followed; -1: none
  int iteration = 0;      // 0: seeds
  std::string candidate;  // id; empty: the root, or a reply without a candidate
  bool correct = false;
  double speedup = 0;   // against the task's own baseline; 0 without a time
  Interval speedup_ci;  // 95 %; {0, 0} when it is not known
  double reward = 0;    // [0, 1]
  double weight = 1;    // of the prior among its siblings, before they are made to sum to 1

  std::vector<NodeId> children;
  int in_flight = 0;              // children that were asked for and are not judged yet
  int virtual_loss = 0;           // proposals in flight at or below this node
  int visits = 0;                 // nodes judged at or below this node, itself included
  double reward_sum = 0;          // of those
  double best_reward = 0;         // of those
  double best_speedup_below = 0;  // of its descendants
  int correct_below = 0;          // how many descendants are correct
  int broken_in_a_row = 0;        // this node and the broken ones right above it
  std::string closed;             // why nothing more is tried here; empty: open
};

// Why nothing more should be tried at a node; nullopt while something may.
std::optional<std::string> dead_end(const Node& node, const SearchOptions& options);

// Whether a correct node is faster than another by more than noise explains, as gain() says it of
// verdicts.
bool clearly_faster(const Node& now, const Node& before);

class Tree {
 public:
  Tree();  // the root alone

  const Node& at(NodeId id) const { return nodes_[static_cast<std::size_t>(id)]; }
  const std::vector<Node>& nodes() const { return nodes_; }
  int size() const { return static_cast<int>(nodes_.size()); }
  bool has(NodeId id) const { return id >= 0 && id < size(); }

  // The node with this candidate, if there is one; an empty id names none.
  std::optional<NodeId> find(const std::string& candidate) const;

  // A proposal for a child of `parent` was asked for, and is there (or will never come).
  void begin_call(NodeId parent);
  void end_call(NodeId parent);

  // Adds a judged node, backs its reward up to the root and closes dead ends on the way. Sets id,
  // children and the statistics. A candidate that is known, or an open reason in `node.closed`,
  // makes it closed from the start.
  NodeId add(Node node, const SearchOptions& options);

  // May get another child now: open, of a kind that has children, below its widening limit.
  bool has_room(NodeId id, const SearchOptions& options) const;

  // The node that the next proposal should start from; nullopt: nothing is open (start anew from
  // the root). `position` is the number of the decision, for ties. When no node has room, the best
  // open one is taken, over its widening limit.
  std::optional<NodeId> select(const SearchOptions& options, std::uint64_t seed,
                               std::uint64_t position) const;

  // The fastest correct node with a time. A later one takes its place only when it is faster by
  // more than noise explains (clearly_faster).
  std::optional<NodeId> best() const;
  std::vector<NodeId> path_to(NodeId id) const;  // from the root's child down to `id`

  double value(NodeId id, const SearchOptions& options) const;

 private:
  Node& node(NodeId id) { return nodes_[static_cast<std::size_t>(id)]; }
  bool expandable(const Node& n, const SearchOptions& options) const;
  NodeId descend(const std::vector<char>& reachable, const SearchOptions& options,
                 std::uint64_t seed, std::uint64_t position) const;

  std::vector<Node> nodes_;
  std::map<std::string, NodeId> by_candidate_;
  std::optional<NodeId> best_;
};

}  // namespace kp
