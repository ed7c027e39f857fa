#include "profile/ncu_launch.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "profile/names.h"

namespace kp {

Dim3 parse_dim3(std::string_view text) {
  std::string_view inner = trim(text);
  if (inner.size() < 2 || inner.front() != '(' || inner.back() != ')') return {0, 0, 0};
  auto parts = split(inner.substr(1, inner.size() - 2), ',');
  if (parts.size() != 3) return {0, 0, 0};
  Dim3 read{0, 0, 0};
  for (std::size_t i = 0; i < 3; ++i) {
    std::string_view p = trim(parts[i]);
    auto [end, error] = std::from_chars(p.data(), p.data() + p.size(), read[i]);
    if (error != std::errc() || end != p.data() + p.size()) return {0, 0, 0};
  }
  return read;
}

namespace {

// Cuts "2021-Mar-05 10:11:12" behind the last comma.
std::string_view without_date(std::string_view s) {
  std::size_t comma = s.rfind(", ");
  if (comma == std::string_view::npos) return s;
  std::string_view last = s.substr(comma + 2);
  bool date = last.size() >= 11 && std::count(last.begin(), last.end(), ':') == 2 &&
              std::count(last.begin(), last.end(), '-') == 2 && last[0] >= '0' && last[0] <= '9';
  return date ? s.substr(0, comma) : s;
}

// Cuts " (2, 1, 1)x(256, 1, 1)" from the end.
std::string_view without_shape(std::string_view s, KernelProfile& kernel) {
  std::size_t x = s.rfind(")x(");
  if (x == std::string_view::npos) return s;
  std::size_t open = s.rfind('(', x);
  if (open == std::string_view::npos || open == 0 || s[open - 1] != ' ') return s;
  Dim3 grid = parse_dim3(s.substr(open, x + 1 - open));
  Dim3 block = parse_dim3(s.substr(x + 2));
  if (grid == Dim3{0, 0, 0} || block == Dim3{0, 0, 0}) return s;
  kernel.grid = grid;
  kernel.block = block;
  return trim(s.substr(0, open));
}

}  // namespace

std::optional<KernelProfile> ncu_launch_of(std::string_view line) {
  if (!starts_with(line, "  ") || line.size() < 3 || line[2] == ' ') return std::nullopt;
  std::size_t context = line.rfind(", Context ");
  if (context == std::string_view::npos || !contains(line.substr(context), ", Stream "))
    return std::nullopt;
  KernelProfile kernel;
  std::string_view head = without_shape(trim(line.substr(0, context)), kernel);
  head = without_date(head);
  if (head.empty()) return std::nullopt;
  kernel.signature = std::string(head);
  kernel.kernel = function_name(kernel.signature);
  return kernel;
}

}  // namespace kp
