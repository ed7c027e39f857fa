#include "candidate/candidate.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "base/text.h"

namespace kp {

namespace {

constexpr const char* kHint =
    "a candidate is one .cu file with /* plan { \"steps\": [...] } */ in front of its kernels";

struct PlanText {
  std::size_t begin = 0;  // of the JSON
  std::size_t end = 0;    // of the JSON: the comment's "*/"
};

// The next comment at or after `from` whose first word is "plan" and which goes on with '{'.
// `begin` is npos when there is none, `end` is npos when the comment has no end.
PlanText find_plan(std::string_view source, std::size_t from) {
  constexpr std::size_t npos = std::string_view::npos;
  auto skip_space = [&](std::size_t at) {
    while (at < source.size() && trim(source.substr(at, 1)).empty()) ++at;
    return at;
  };
  for (std::size_t at = source.find("/*", from); at != npos; at = source.find("/*", at + 2)) {
    std::size_t word = skip_space(at + 2);
    if (!starts_with(source.substr(word), "plan")) continue;
    std::size_t begin = skip_space(word + 4);
    if (begin < source.size() && source[begin] == '{') return {begin, source.find("*/", begin)};
  }
  return {npos, npos};
}

// The plan's text after as many line ends as stand before it, so that the line numbers of the JSON
// parser are the file's own.
std::string with_line_numbers(std::string_view source, const PlanText& plan) {
  auto before = source.substr(0, plan.begin);
  std::string text(static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')), '\n');
  text += source.substr(plan.begin, plan.end - plan.begin);
  return text;
}

}  // namespace

Result<Candidate> parse_candidate(std::string_view source, std::string_view name) {
  Candidate candidate;
  candidate.id = sha256_hex(source).substr(0, 12);
  candidate.source = std::string(source);
  candidate.name = name.empty() ? "candidate " + candidate.id : std::string(name);

  PlanText found = find_plan(source, 0);
  if (found.begin == std::string_view::npos)
    return fail(fmt::format("{}: no plan comment", candidate.name), kHint);
  if (found.end == std::string_view::npos)
    return fail(fmt::format("{}: the plan comment has no end", candidate.name),
                "close it with */ after the plan's last brace");
  if (find_plan(source, found.end).begin != std::string_view::npos)
    return fail(fmt::format("{}: more than one plan comment", candidate.name),
                "keep one; several kernels are several steps of one plan");

  std::string where = candidate.name + ": plan";
  KP_ASSIGN(Json json, parse_json(with_line_numbers(source, found), where));
  KP_ASSIGN(candidate.plan, parse_plan(json, where));
  return candidate;
}

Result<Candidate> load_candidate(const fs::path& path) {
  KP_ASSIGN(std::string source, read_file(path));
  return parse_candidate(source, path.string());
}

std::string join_candidate(std::string_view device_code, std::string_view plan_json) {
  return fmt::format("/* plan\n{}\n*/\n{}\n", trim(plan_json), trim(device_code));
}

}  // namespace kp
