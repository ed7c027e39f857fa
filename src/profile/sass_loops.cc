#include "profile/sass_loops.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "base/text.h"

namespace kp {

std::string_view base_opcode(std::string_view opcode) {
  return opcode.substr(0, opcode.find('.'));
}

namespace {

bool is_branch(std::string_view op) {
  return op == "BRA" || op == "JMP";
}
bool is_indirect(std::string_view op) {
  return op == "BRX" || op == "JMX" || op == "BRXU" || op == "JMXU";
}
bool is_end(std::string_view op) {
  return op == "EXIT" || op == "RET" || op == "KILL";
}

bool conditional(const SassInstruction& i) {
  bool predicated = !i.predicate.empty() && i.predicate != "@PT" && i.predicate != "@UPT";
  bool in_operands = is_branch(base_opcode(i.opcode)) && contains(i.operands, ",");
  return predicated || in_operands;
}

struct Block {
  std::size_t begin = 0, end = 0;  // instructions
  std::vector<int> next, before;
};

// Cut at targets and after every instruction that may go elsewhere.
std::vector<Block> blocks_of(const std::vector<SassInstruction>& code) {
  std::map<std::uint32_t, std::size_t> at;
  for (std::size_t i = 0; i < code.size(); ++i) at.emplace(code[i].address, i);
  auto index_of_target = [&](const SassInstruction& i) -> std::optional<std::size_t> {
    auto target = branch_target(i);
    if (!target) return std::nullopt;
    auto it = at.find(*target);
    return it == at.end() ? std::nullopt : std::optional(it->second);
  };
  std::vector<bool> leader(code.size() + 1, false);
  leader[0] = true;
  for (std::size_t i = 0; i < code.size(); ++i) {
    std::string_view op = base_opcode(code[i].opcode);
    if (is_branch(op) || is_indirect(op) || is_end(op) || op == "CALL") leader[i + 1] = true;
    if (auto target = index_of_target(code[i])) leader[*target] = true;
  }
  std::vector<Block> blocks;
  std::vector<int> block_of(code.size(), 0);
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (leader[i]) blocks.push_back({i, i, {}, {}});
    blocks.back().end = i + 1;
    block_of[i] = static_cast<int>(blocks.size()) - 1;
  }
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const SassInstruction& last = code[blocks[b].end - 1];
    std::string_view op = base_opcode(last.opcode);
    bool leaves = is_branch(op) || is_indirect(op) || is_end(op);
    if (auto target = index_of_target(last)) blocks[b].next.push_back(block_of[*target]);
    if ((!leaves || conditional(last)) && b + 1 < blocks.size())
      blocks[b].next.push_back(static_cast<int>(b) + 1);
  }
  return blocks;
}

// Depth-first post-order from block 0 and from every block that is not reached (targets of indirect
// branches); those become successors of a virtual entry, the last block of the list.
class Order {
 public:
  explicit Order(std::vector<Block>& blocks) : blocks_(blocks) {
    std::size_t n = blocks.size();
    Block entry;
    std::vector<bool> seen(n, false);
    for (std::size_t root = 0; root < n; ++root) {
      if (seen[root]) continue;
      entry.next.push_back(static_cast<int>(root));
      visit(static_cast<int>(root), seen);
    }
    blocks.push_back(entry);
    post_.push_back(static_cast<int>(n));
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      for (int s : blocks[b].next)
        blocks[static_cast<std::size_t>(s)].before.push_back(static_cast<int>(b));
    }
  }
  const std::vector<int>& post() const { return post_; }

 private:
  void visit(int root, std::vector<bool>& seen) {
    std::vector<std::pair<int, std::size_t>> stack{{root, 0}};
    seen[static_cast<std::size_t>(root)] = true;
    while (!stack.empty()) {
      auto& [b, i] = stack.back();
      const auto& next = blocks_[static_cast<std::size_t>(b)].next;
      if (i < next.size()) {
        int s = next[i++];
        if (!seen[static_cast<std::size_t>(s)]) {
          seen[static_cast<std::size_t>(s)] = true;
          stack.emplace_back(s, 0);
        }
      } else {
        post_.push_back(b);
        stack.pop_back();
      }
    }
  }
  std::vector<Block>& blocks_;
  std::vector<int> post_;
};

// Immediate dominators (Cooper, Harvey, Kennedy 2001).
std::vector<int> dominators(const std::vector<Block>& blocks, const std::vector<int>& post) {
  std::vector<int> number(blocks.size(), 0);
  for (std::size_t i = 0; i < post.size(); ++i)
    number[static_cast<std::size_t>(post[i])] = static_cast<int>(i);
  std::vector<int> idom(blocks.size(), -1);
  int entry = post.back();
  idom[static_cast<std::size_t>(entry)] = entry;
  auto num = [&](int b) { return number[static_cast<std::size_t>(b)]; };
  auto meet = [&](int a, int b) {
    while (a != b) {
      while (num(a) < num(b)) a = idom[static_cast<std::size_t>(a)];
      while (num(b) < num(a)) b = idom[static_cast<std::size_t>(b)];
    }
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (auto it = post.rbegin() + 1; it != post.rend(); ++it) {
      int best = -1;
      for (int p : blocks[static_cast<std::size_t>(*it)].before) {
        if (idom[static_cast<std::size_t>(p)] < 0) continue;
        best = best < 0 ? p : meet(best, p);
      }
      if (best != idom[static_cast<std::size_t>(*it)]) {
        idom[static_cast<std::size_t>(*it)] = best;
        changed = true;
      }
    }
  }
  return idom;
}

bool dominates(const std::vector<int>& idom, int a, int b) {
  while (true) {
    if (a == b) return true;
    int up = idom[static_cast<std::size_t>(b)];
    if (up == b || up < 0) return false;
    b = up;
  }
}

}  // namespace

std::optional<std::uint32_t> branch_target(const SassInstruction& i) {
  std::string_view op = base_opcode(i.opcode);
  if (!is_branch(op) && op != "CALL") return std::nullopt;
  std::string_view s = trim(i.operands);
  std::size_t at = s.find_last_of(" ,");
  if (at != std::string_view::npos) s = s.substr(at + 1);
  if (!starts_with(s, "0x")) return std::nullopt;
  std::uint32_t target = 0;
  auto [end, error] = std::from_chars(s.data() + 2, s.data() + s.size(), target, 16);
  if (error != std::errc() || end != s.data() + s.size()) return std::nullopt;
  return target;
}

bool is_trap(const SassInstruction& i) {
  auto target = branch_target(i);
  return target && *target == i.address && is_branch(base_opcode(i.opcode)) && !conditional(i);
}

SassLoops find_loops(const std::vector<SassInstruction>& code) {
  SassLoops loops;
  loops.in_loop.assign(code.size(), false);
  if (code.empty()) return loops;
  std::vector<Block> blocks = blocks_of(code);
  Order order(blocks);
  std::vector<int> idom = dominators(blocks, order.post());
  std::map<int, std::vector<int>> back_edges;  // header → sources
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    if (blocks[b].begin == blocks[b].end || is_trap(code[blocks[b].end - 1])) continue;
    bool call = base_opcode(code[blocks[b].end - 1].opcode) == "CALL";
    for (int s : blocks[b].next) {
      if (!call && dominates(idom, s, static_cast<int>(b)))
        back_edges[s].push_back(static_cast<int>(b));
    }
  }
  loops.count = static_cast<int>(back_edges.size());
  for (const auto& [header, sources] : back_edges) {
    std::vector<bool> member(blocks.size(), false);
    member[static_cast<std::size_t>(header)] = true;
    std::vector<int> work = sources;
    while (!work.empty()) {
      int b = work.back();
      work.pop_back();
      if (member[static_cast<std::size_t>(b)]) continue;
      member[static_cast<std::size_t>(b)] = true;
      for (int p : blocks[static_cast<std::size_t>(b)].before) work.push_back(p);
    }
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      if (!member[b]) continue;
      for (std::size_t i = blocks[b].begin; i < blocks[b].end; ++i) loops.in_loop[i] = true;
    }
  }
  return loops;
}

}  // namespace kp
