#include "profile/names.h"

#include <cctype>
#include <vector>

#include "base/text.h"
#include "candidate/kernel_name.h"

namespace kp {

namespace {

// Where the name starts and ends in "void ns::f<...>(...)": angle brackets and parentheses nest.
struct Span {
  std::size_t begin = 0, end = 0;
};

Span name_span(std::string_view s) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)";
  Span span;
  int depth = 0;
  std::size_t i = 0;
  for (; i < s.size(); ++i) {
    if (depth == 0 && s.substr(i, kAnonymous.size()) == kAnonymous) {
      i += kAnonymous.size() - 1;
      continue;
    }
    char c = s[i];
    if (c == '<') ++depth;
    if (c == '>' && depth > 0) --depth;
    if (depth == 0 && c == '(') break;
    if (depth == 0 && c == ' ') span.begin = i + 1;
  }
  span.end = i;
  return span;
}

}  // namespace

std::string function_name(std::string_view signature) {
  std::string text = demangled(std::string(trim(signature)));
  Span span = name_span(text);
  std::string name;
  int depth = 0;
  for (std::size_t i = span.begin; i < span.end; ++i) {
    char c = text[i];
    if (c == '<' && text.compare(i, 9, "<unnamed>") == 0) {  // nvcc's anonymous namespace
      name += "<unnamed>";
      i += 8;
      continue;
    }
    if (c == '<') ++depth;
    if (depth == 0) name.push_back(c);
    if (c == '>' && depth > 0) --depth;
  }
  return name.empty() ? text : name;
}

std::string_view last_part(std::string_view name) {
  std::size_t at = name.rfind("::");
  return at == std::string_view::npos ? name : name.substr(at + 2);
}

std::string comparable_signature(std::string_view signature) {
  std::string text = demangled(std::string(trim(signature)));
  Span span = name_span(text);
  if (span.begin == 0 && span.end == text.size() && !contains(text, "<")) return "";
  text = text.substr(span.begin);
  // Casts inside template arguments: "<(int)16>" and "<16>" are the same.
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    bool after_argument_start = !out.empty() && (out.back() == '<' || out.back() == ',');
    if (c == '(' && after_argument_start) {
      std::size_t close = text.find(')', i);
      if (close != std::string::npos && close + 1 < text.size() &&
          (std::isalnum(static_cast<unsigned char>(text[close + 1])) != 0 ||
           text[close + 1] == '-')) {
        i = close;
        continue;
      }
    }
    if (c != ' ') out.push_back(c);
  }
  // "const float *" (ncu) and "float const*" (the C++ ABI) are the same: drop the qualifier.
  return replace_all(out, "const", "");
}

FunctionMatch match_function(std::string_view signature,
                             const std::vector<std::string>& candidates) {
  std::string name = function_name(signature);
  std::vector<int> same_name, same_last_part;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    std::string other = function_name(candidates[i]);
    if (other == name) same_name.push_back(static_cast<int>(i));
    if (last_part(other) == last_part(name)) same_last_part.push_back(static_cast<int>(i));
  }
  const std::vector<int>& found = same_name.empty() ? same_last_part : same_name;
  if (found.empty()) return {};
  if (found.size() == 1) return {found[0], false};
  std::string whole = comparable_signature(signature);
  FunctionMatch match{-1, true};
  for (int i : found) {
    std::string other = comparable_signature(candidates[static_cast<std::size_t>(i)]);
    if (other != whole) continue;
    match = {i, match.index >= 0};  // two equal ones are as bad as none
  }
  return match.ambiguous ? FunctionMatch{-1, true} : match;
}

}  // namespace kp
