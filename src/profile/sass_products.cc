#include "profile/sass_products.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "base/text.h"
#include "profile/sass_loops.h"

namespace kp {

namespace {

// "R12", "-R12.reuse" -> 12; -1 for others, RZ too.
int register_of(std::string_view text) {
  text = trim(text);
  while (!text.empty() && (text[0] == '-' || text[0] == '|')) text.remove_prefix(1);
  if (text.size() < 2 || text[0] != 'R') return -1;
  int number = -1;
  auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), number);
  return error == std::errc() && end != text.data() + 1 ? number : -1;
}

bool is_load(std::string_view op) {
  return op == "LDG" || op == "LD" || op == "LDS" || op == "LDSM";
}

}  // namespace

double executed_products(const SassSummary& function) {
  std::set<int> loaded;  // registers that a load in a loop fills
  for (const SassInstruction& i : function.code) {
    if (!i.in_loop || !is_load(base_opcode(i.opcode))) continue;
    int first = register_of(split(i.operands, ',').front());
    for (int r = 0; first >= 0 && r < std::max(1, access_bits(i.opcode) / 32); ++r)
      loaded.insert(first + r);
  }
  double products = 0;
  double all = 0;
  for (const SassInstruction& i : function.code) {
    if (!i.in_loop || base_opcode(i.opcode) != "FFMA" || i.executed < 0) continue;
    auto operands = split(i.operands, ',');
    if (operands.size() != 4) continue;
    auto executed = static_cast<double>(i.executed);
    all += executed;
    if (loaded.count(register_of(operands[1])) == 1 && loaded.count(register_of(operands[2])) == 1)
      products += executed;
  }
  return products >= 0.5 * all ? products : 0;
}

}  // namespace kp
