#include "search/tree.h"

#include <gtest/gtest.h>

#include <set>

#include "base/rng.h"

namespace kp {
namespace {

const SearchOptions kOptions;

Node correct(NodeId parent, double speedup, std::string id) {
  Node n;
  n.parent = parent;
  n.correct = true;
  n.speedup = speedup;
  n.reward = std::min(1.0, speedup / 10);
  n.candidate = std::move(id);
  return n;
}

Node broken(NodeId parent, std::string id) {
  Node n;
  n.parent = parent;
  n.candidate = std::move(id);
  return n;
}

TEST(Tree, BacksUpToTheRoot) {
  Tree tree;
  NodeId a = tree.add(correct(kRoot, 2, "a"), kOptions);
  NodeId b = tree.add(correct(a, 6, "b"), kOptions);
  tree.add(broken(b, "c"), kOptions);
  EXPECT_EQ(tree.at(kRoot).visits, 3);
  EXPECT_DOUBLE_EQ(tree.at(kRoot).reward_sum, 0.8);
  EXPECT_EQ(tree.at(a).visits, 3);
  EXPECT_DOUBLE_EQ(tree.at(a).best_reward, 0.6);
  EXPECT_DOUBLE_EQ(tree.at(a).best_speedup_below, 6);
  EXPECT_EQ(tree.at(a).correct_below, 1);
  EXPECT_EQ(tree.at(b).visits, 2);
  EXPECT_EQ(tree.best(), b);
  EXPECT_EQ(tree.path_to(b), (std::vector<NodeId>{a, b}));
}

TEST(Tree, DuplicatesAreClosedAndDoNotCountAsFound) {
  Tree tree;
  NodeId a = tree.add(correct(kRoot, 2, "a"), kOptions);
  NodeId again = tree.add(correct(a, 2, "a"), kOptions);
  EXPECT_EQ(tree.at(again).closed, "same as node 1");
  EXPECT_FALSE(tree.has_room(again, kOptions));
  EXPECT_EQ(tree.best(), a);
  EXPECT_EQ(tree.find("a"), a);
  EXPECT_FALSE(tree.find(""));
  NodeId x = tree.add(broken(kRoot, ""), kOptions);
  NodeId y = tree.add(broken(kRoot, ""), kOptions);
  EXPECT_TRUE(tree.at(x).closed.empty() && tree.at(y).closed.empty())
      << "two replies without a candidate are not the same candidate";
}

TEST(Tree, BrokenChainsAndFailedRepairsAreDeadEnds) {
  Tree tree;
  NodeId a = tree.add(broken(kRoot, "a"), kOptions);
  EXPECT_TRUE(tree.has_room(a, kOptions));
  NodeId b = tree.add(broken(a, "b"), kOptions);
  NodeId c = tree.add(broken(b, "c"), kOptions);
  EXPECT_EQ(tree.at(c).closed, "3 broken in a row");
  EXPECT_TRUE(tree.at(b).closed.empty()) << "one repair is left";
  tree.add(broken(b, "d"), kOptions);
  EXPECT_EQ(tree.at(b).closed, "2 repairs led nowhere");
  EXPECT_TRUE(tree.at(a).closed.empty());
  tree.add(broken(a, "b"), kOptions);  // the same again
  EXPECT_EQ(tree.at(a).closed, "2 repairs led nowhere");
  EXPECT_FALSE(tree.select(kOptions, 1, 1)) << "nothing is open";
}

TEST(Tree, ARepairedNodeGetsNoMoreRepairsButItsChildLives) {
  Tree tree;
  NodeId a = tree.add(broken(kRoot, "a"), kOptions);
  NodeId b = tree.add(correct(a, 3, "b"), kOptions);
  EXPECT_EQ(tree.at(b).broken_in_a_row, 0);
  for (std::uint64_t i = 0; i < 5; ++i) EXPECT_EQ(tree.select(kOptions, 1, i), b);
}

TEST(Tree, NoGainClosesAPlateau) {
  Tree tree;
  NodeId a = tree.add(correct(kRoot, 4, "a"), kOptions);
  for (int i = 1; i < kOptions.no_gain_visits; ++i) {
    EXPECT_TRUE(tree.at(a).closed.empty()) << i;
    tree.add(correct(a, 4.01, "s" + std::to_string(i)), kOptions);
  }
  EXPECT_EQ(tree.at(a).closed, "no gain in 8 visits");
  EXPECT_FALSE(tree.select(kOptions, 1, 1)) << "what lies below is no better";

  Tree gains;
  a = gains.add(correct(kRoot, 4, "a"), kOptions);
  for (int i = 1; i < 20; ++i) gains.add(correct(a, 4.2, "s" + std::to_string(i)), kOptions);
  EXPECT_TRUE(gains.at(a).closed.empty());
}

TEST(Tree, SelectsTheBetterAndKeepsToTheWideningLimit) {
  Tree tree;
  NodeId slow = tree.add(correct(kRoot, 1, "slow"), kOptions);
  NodeId fast = tree.add(correct(kRoot, 8, "fast"), kOptions);
  EXPECT_EQ(tree.select(kOptions, 1, 1), fast);
  NodeId child = tree.add(correct(fast, 9, "child"), kOptions);
  // 2 visits of `fast`: 2 children are allowed.
  EXPECT_EQ(tree.select(kOptions, 1, 2), fast);
  tree.add(correct(fast, 2, "other"), kOptions);
  // 3 visits: still 2; on below.
  EXPECT_EQ(tree.select(kOptions, 1, 3), child);
  EXPECT_TRUE(tree.has_room(slow, kOptions));
}

TEST(Tree, ProposalsInFlightSpread) {
  Tree tree;
  NodeId a = tree.add(correct(kRoot, 5, "a"), kOptions);
  NodeId b = tree.add(correct(kRoot, 5, "b"), kOptions);
  NodeId first = *tree.select(kOptions, 1, 1);
  tree.begin_call(first);
  EXPECT_EQ(tree.at(kRoot).virtual_loss, 1);
  NodeId second = *tree.select(kOptions, 1, 2);
  EXPECT_NE(first, second);
  EXPECT_TRUE((first == a && second == b) || (first == b && second == a));
  tree.end_call(first);
  EXPECT_EQ(tree.at(kRoot).virtual_loss, 0);
  EXPECT_EQ(tree.select(kOptions, 1, 1), first) << "as before";
}

TEST(Tree, TakesTheBestOpenNodeWhenNoneHasRoom) {
  SearchOptions narrow;
  narrow.widen_c_correct = 1;
  narrow.widen_alpha_correct = 0;  // one child each, for ever
  Tree tree;
  NodeId a = tree.add(correct(kRoot, 5, "a"), narrow);
  tree.add(correct(a, 5, "a"), narrow);  // a duplicate
  EXPECT_FALSE(tree.has_room(a, narrow));
  EXPECT_EQ(tree.select(narrow, 1, 1), a);
}

TEST(Tree, CheatsAndUnreadableRepliesAreNotBuiltUpon) {
  Tree tree;
  Node cheat = broken(kRoot, "a");
  cheat.closed = "dishonest";
  tree.add(cheat, kOptions);
  tree.add(broken(kRoot, ""), kOptions);
  EXPECT_FALSE(tree.select(kOptions, 1, 1));
}

// Whatever is added, the statistics hold and the selection is open and of the right kind.
TEST(Tree, InvariantsOnRandomTrees) {
  Rng rng(3);
  for (int round = 0; round < 30; ++round) {
    Tree tree;
    for (int i = 0; i < 120; ++i) {
      NodeId parent = kRoot;
      if (auto chosen = tree.select(kOptions, 5, static_cast<std::uint64_t>(i)); chosen && i > 5) {
        parent = *chosen;
        const Node& n = tree.at(parent);
        ASSERT_TRUE(n.closed.empty());
        ASSERT_FALSE(n.candidate.empty());
        for (NodeId up : tree.path_to(parent)) ASSERT_TRUE(tree.at(up).closed.empty());
        if (!n.correct) {
          ASSERT_LT(static_cast<int>(n.children.size()), kOptions.repairs_per_node);
        }
      }
      std::string id = "c" + std::to_string(rng.below(150));
      tree.add(rng.below(3) == 0 ? broken(parent, id) : correct(parent, 1 + 9 * rng.uniform(), id),
               kOptions);
    }
    int leaves = 0;
    double sum = 0;
    for (const Node& n : tree.nodes()) {
      int below = n.id == kRoot ? 0 : 1;
      double rewards = n.reward;
      for (NodeId c : n.children) {
        below += tree.at(c).visits;
        rewards += tree.at(c).reward_sum;
      }
      ASSERT_EQ(n.visits, below);
      ASSERT_NEAR(n.reward_sum, rewards, 1e-9);
      ASSERT_EQ(n.virtual_loss, 0);
      if (n.children.empty()) ++leaves;
      sum += n.reward;
    }
    ASSERT_GT(leaves, 0);
    ASSERT_NEAR(sum, tree.at(kRoot).reward_sum, 1e-9);
  }
}

TEST(Tree, TheBestGivesWayOnlyToWhatNoiseDoesNotExplain) {
  Node best;
  best.speedup = 2;
  best.speedup_ci = {1.98, 2.02};
  Node other;
  other.speedup = 2.015;
  other.speedup_ci = {2.01, 2.03};
  EXPECT_FALSE(clearly_faster(other, best));  // the intervals meet
  other.speedup = 2.1;
  other.speedup_ci = {2.0, 2.2};
  EXPECT_FALSE(clearly_faster(other, best));
  other.speedup_ci = {2.08, 2.12};
  EXPECT_TRUE(clearly_faster(other, best));
  best.speedup_ci = other.speedup_ci = {};  // times without intervals
  other.speedup = 2.01;
  EXPECT_FALSE(clearly_faster(other, best));
  other.speedup = 2.03;
  EXPECT_TRUE(clearly_faster(other, best));
}

}  // namespace
}  // namespace kp
