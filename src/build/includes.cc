#include "build/includes.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace kp {

namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

struct Directive {
  std::string name;  // "include"
  std::string rest;  // its operand, comments taken out
  int line = 0;
};

// Walks over the characters with line splices taken out, keeping the line of each.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) { skip_splices(); }

  bool done() const { return at_ >= text_.size(); }
  char now() const { return done() ? '\0' : text_[at_]; }
  int line() const { return line_; }
  char next() {
    char c = now();
    step();
    return c;
  }
  bool take(std::string_view word) {
    Scanner ahead = *this;
    for (char c : word)
      if (ahead.done() || ahead.next() != c) return false;
    *this = ahead;
    return true;
  }
  // Raw strings end at an exact text, splices and all.
  void skip_past(std::string_view end) {
    std::size_t found = text_.find(end, at_);
    std::size_t stop = found == std::string_view::npos ? text_.size() : found + end.size();
    line_ += static_cast<int>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_),
                                         text_.begin() + static_cast<std::ptrdiff_t>(stop), '\n'));
    at_ = stop;
  }

 private:
  void step() {
    if (done()) return;
    if (text_[at_] == '\n') ++line_;
    ++at_;
    skip_splices();
  }
  void skip_splices() {
    while (at_ < text_.size() && text_[at_] == '\\') {
      std::size_t end = at_ + 1;  // compilers allow blanks between the backslash and the newline
      while (end < text_.size() && (text_[end] == ' ' || text_[end] == '\t' || text_[end] == '\r'))
        ++end;
      if (end >= text_.size() || text_[end] != '\n') return;
      at_ = end + 1;
      ++line_;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
};

bool skip_comment(Scanner& s) {
  if (s.take("/*")) {
    while (!s.done() && !s.take("*/")) s.next();
    return true;
  }
  if (s.take("//")) {
    while (!s.done() && s.now() != '\n') s.next();
    return true;
  }
  return false;
}

void skip_quoted(Scanner& s, char quote) {
  while (!s.done() && s.now() != '\n') {
    char c = s.next();
    if (c == quote) return;
    if (c == '\\' && !s.done() && s.now() != '\n') s.next();
  }
}

void skip_raw_string(Scanner& s) {
  std::string delimiter;
  while (!s.done() && s.now() != '(' && s.now() != '\n' && delimiter.size() < 17)
    delimiter.push_back(s.next());
  if (s.now() == '(') s.skip_past(")" + delimiter + "\"");
}

Directive read_directive(Scanner& s, int line) {
  Directive d;
  d.line = line;
  std::string text;
  while (!s.done() && s.now() != '\n') {
    if (skip_comment(s))
      text.push_back(' ');
    else
      text.push_back(s.next());
  }
  std::string_view rest = trim(text);
  std::size_t end = 0;
  while (end < rest.size() && is_word(rest[end])) ++end;
  d.name = rest.substr(0, end);
  d.rest = trim(rest.substr(end));
  return d;
}

std::vector<Directive> find_directives(std::string_view source) {
  std::vector<Directive> found;
  Scanner s(source);
  bool line_start = true;  // nothing but blanks and comments so far
  std::string word;
  while (!s.done()) {
    if (skip_comment(s)) continue;
    const int line = s.line();
    if (line_start && (s.take("#") || s.take("%:") || s.take("\?\?="))) {
      found.push_back(read_directive(s, line));
      continue;
    }
    char c = s.next();
    if (c == '"') {
      bool raw = word == "R" || word == "u8R" || word == "uR" || word == "UR" || word == "LR";
      if (raw)
        skip_raw_string(s);
      else
        skip_quoted(s, c);
    }
    if (c == '\'' && word.empty()) skip_quoted(s, c);  // not a digit separator: 1'000
    if (is_word(c))
      word.push_back(c);
    else
      word.clear();
    if (c == '\n')
      line_start = true;
    else if (c != ' ' && c != '\t' && c != '\r' && c != '\f' && c != '\v')
      line_start = false;
  }
  return found;
}

bool is_include(const Directive& d) {
  return d.name == "include" || d.name == "include_next" || d.name == "import" || d.name == "embed";
}

std::string operand_path(const std::string& rest) {
  if (rest.size() < 2) return "";
  char close = rest[0] == '<' ? '>' : rest[0] == '"' ? '"' : '\0';
  std::size_t end = close == '\0' ? std::string::npos : rest.find(close, 1);
  return end == std::string::npos ? "" : rest.substr(1, end - 1);
}

std::string why_refused(const Directive& d, const std::string& path) {
  if (d.name == "embed") return "#embed is not allowed";
  if (path.empty()) return "the operand of #include must be a name in <> or \"\"";
  if (path[0] == '/' || path[0] == '~') return "a candidate may not include an absolute path";
  for (std::string_view part : split(path, '/'))
    if (part == "..") return "a candidate may not include a path with '..'";
  return "";
}

// Parts of libcu++ that are read in a few milliseconds.
const char* const kLightHeaders[] = {"cuda/std/cstdint", "cuda/std/cstddef", "cuda/std/climits",
                                     "cuda/std/cfloat",  "cuda/std/cassert", "cuda/std/version"};
const char* const kHeavyPrefixes[] = {"cooperative_groups", "cub/", "cuda/barrier", "cuda/pipeline",
                                      "cuda/std/"};
const char* const kForwarded[] = {"type_traits", "utility", "array", "tuple", "functional"};

bool in(std::string_view word, const auto& list) {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

bool is_cute(std::string_view path) {
  return starts_with(path, "cute/") || starts_with(path, "cutlass/");
}

bool is_cccl(std::string_view path) {
  if (in(path, kLightHeaders)) return false;
  return in(path, kForwarded) ||
         std::any_of(std::begin(kHeavyPrefixes), std::end(kHeavyPrefixes),
                     [&](const char* prefix) { return starts_with(path, prefix); });
}

}  // namespace

std::vector<Include> find_includes(std::string_view source) {
  std::vector<Include> found;
  bool defined = false;
  for (const Directive& d : find_directives(source)) {
    if (d.name == "define" || d.name == "undef") defined = true;
    if (is_include(d)) found.push_back({operand_path(d.rest), d.line, defined});
  }
  return found;
}

std::vector<Diagnostic> check_includes(std::string_view source) {
  std::vector<Diagnostic> problems;
  for (const Directive& d : find_directives(source)) {
    if (!is_include(d)) continue;
    std::string why = why_refused(d, operand_path(d.rest));
    if (!why.empty())
      problems.push_back({Diagnostic::Severity::error, d.line, 0, "", fmt::format("{}", why)});
  }
  return problems;
}

std::string precompiled_prefix(std::string_view source) {
  std::string prefix;
  for (const Include& include : find_includes(source)) {
    bool cute = is_cute(include.path);
    if (!cute && !is_cccl(include.path)) continue;
    if (include.after_define) return "";
    if (cute)
      prefix = "kernelpro/cute.h";
    else if (prefix.empty())
      prefix = "kernelpro/cccl.h";
  }
  return prefix;
}

}  // namespace kp
