#include "build/diagnostics.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/json.h"
#include "base/text.h"

namespace kp {

namespace {

// The number at the front of `text`, which it is taken off; -1 when there is none.
int take_number(std::string_view& text) {
  int value = -1;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return -1;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

bool take(std::string_view& text, std::string_view word) {
  if (!starts_with(text, word)) return false;
  text.remove_prefix(word.size());
  return true;
}

// "e.cu(4): error: message" and "e.cu(4): warning #549-D: message".
bool parse_located(std::string_view line, Diagnostic& d) {
  std::size_t close = line.find("): ");
  if (close == std::string_view::npos) return false;
  std::size_t open = line.rfind('(', close);
  if (open == std::string_view::npos) return false;
  std::string_view number = line.substr(open + 1, close - open - 1);
  d.line = take_number(number);
  if (d.line < 0 || !number.empty()) return false;
  d.file = line.substr(0, open);
  std::string_view rest = line.substr(close + 3);
  take(rest, "catastrophic ");
  if (take(rest, "error"))
    d.severity = Diagnostic::Severity::error;
  else if (take(rest, "warning"))
    d.severity = Diagnostic::Severity::warning;
  else if (take(rest, "remark") || take(rest, "note"))
    d.severity = Diagnostic::Severity::note;
  else
    return false;
  std::size_t colon = rest.find(": ");
  if (colon == std::string_view::npos) return false;
  d.message = rest.substr(colon + 2);
  return true;
}

// "ptxas error   : message", "ptxas fatal   : message" and "ptxas application ptx input, line 29;
// error   : message"; NVRTC's own: "nvrtc: error: invalid value ...".
bool parse_unlocated(std::string_view line, Diagnostic& d) {
  d = {};
  std::size_t colon = line.find(": ");
  if (colon == std::string_view::npos) return false;
  std::string_view head = line.substr(0, colon);
  if (starts_with(line, "ptxas ")) {
    if (contains(head, "error") || contains(head, "fatal"))
      d.severity = Diagnostic::Severity::error;
    else if (contains(head, "warning"))
      d.severity = Diagnostic::Severity::warning;
    else
      return false;
    d.message = "ptxas: " + std::string(trim(line.substr(colon + 2)));
    return true;
  }
  if (starts_with(line, "nvrtc: ") && contains(line, "error")) {
    d.message = line;
    return true;
  }
  return false;
}

// `at line 5` (same file) or `at line 5 of "e.cu"`: the candidate's own line in a chain of
// instantiations; 0 when the text names none.
int own_line_in(std::string_view text, std::string_view in_file, std::string_view own) {
  std::size_t at = text.find("at line ");
  if (at == std::string_view::npos) return 0;
  text.remove_prefix(at + 8);
  int number = take_number(text);
  std::string_view file = in_file;
  if (take(text, " of \"")) file = text.substr(0, text.find('"'));
  return file == own ? std::max(number, 0) : 0;
}

}  // namespace

std::vector<Diagnostic> parse_nvrtc_log(std::string_view log, std::string_view file) {
  std::vector<Diagnostic> found;
  std::string in_file;     // of the last diagnostic
  bool have_note = false;  // its candidate line is known
  int echo = 0;            // the two lines after a diagnostic: source and caret
  for (std::string_view line : lines_of(log)) {
    Diagnostic d;
    if (parse_located(line, d)) {
      in_file = d.file;
      if (d.file == file) d.file.clear();
      have_note = d.file.empty();
      echo = 2;
      found.push_back(d);
      continue;
    }
    if (parse_unlocated(line, d)) {
      in_file.clear();
      have_note = true;
      echo = 0;
      found.push_back(d);
      continue;
    }
    if (echo > 0 && !found.empty()) {
      --echo;
      std::string_view text = trim(line);
      if (text == "^" && line.size() >= 3) {
        found.back().column = static_cast<int>(line.find('^')) - 1;  // indented by two
        echo = 0;
      }
      continue;
    }
    if (found.empty() || !starts_with(line, "   ")) continue;
    if (int own = own_line_in(line, in_file, file); own > 0 && !have_note) {
      found.push_back({Diagnostic::Severity::note, own, 0, "", std::string(trim(line))});
      have_note = true;
    }
  }
  return found;
}

std::map<std::string, Spills> parse_spills(std::string_view log) {
  std::map<std::string, Spills> spills;
  std::string symbol;
  const std::string_view kProperties = "Function properties for ";
  for (std::string_view line : lines_of(log)) {
    if (!starts_with(line, "ptxas")) continue;
    if (std::size_t at = line.find(kProperties); at != std::string_view::npos)
      symbol = trim(line.substr(at + kProperties.size()));
    std::size_t stores = line.find(" bytes spill stores, ");
    if (stores == std::string_view::npos || symbol.empty()) continue;
    std::string_view number = line.substr(0, stores);
    number.remove_prefix(number.find_last_of(" ") + 1);
    std::string_view loads = line.substr(stores + 21);
    spills[symbol] = {static_cast<std::uint32_t>(std::max(take_number(number), 0)),
                      static_cast<std::uint32_t>(std::max(take_number(loads), 0))};
    symbol.clear();
  }
  return spills;
}

std::vector<int> ptx_error_lines(std::string_view log) {
  std::vector<int> found;
  const std::string_view kInput = "ptx input, line ";
  for (std::string_view line : lines_of(log)) {
    std::size_t at = line.find(kInput);
    if (!starts_with(line, "ptxas") || at == std::string_view::npos) continue;
    std::string_view rest = line.substr(at + kInput.size());
    found.push_back(std::max(take_number(rest), 0));
  }
  return found;
}

int source_line_of_ptx(std::string_view ptx, int ptx_line, std::string_view file) {
  std::vector<std::string_view> lines = lines_of(ptx);
  // .file 1 "e.cu"
  int own_index = -1;
  for (std::string_view line : lines) {
    std::string_view rest = trim(line);
    if (!take(rest, ".file")) continue;
    rest = trim(rest);
    int index = take_number(rest);
    std::string_view name = trim(rest);
    if (ends_with(name, fmt::format("/{}\"", file)) || name == fmt::format("\"{}\"", file))
      own_index = index;
  }
  if (own_index < 0 || ptx_line < 1 || static_cast<std::size_t>(ptx_line) > lines.size()) return 0;
  for (int i = ptx_line - 1; i >= 0; --i) {
    std::string_view rest = trim(lines[static_cast<std::size_t>(i)]);
    if (starts_with(rest, ".entry") || starts_with(rest, ".visible")) return 0;
    if (!take(rest, ".loc")) continue;
    rest = trim(rest);
    if (take_number(rest) != own_index) continue;
    rest = trim(rest);
    return std::max(take_number(rest), 0);
  }
  return 0;
}

namespace {

const char* word_of(Diagnostic::Severity severity) {
  switch (severity) {
    case Diagnostic::Severity::error:
      return "error";
    case Diagnostic::Severity::warning:
      return "warning";
    case Diagnostic::Severity::note:
      return "note";
  }
  return "error";
}

std::string describe(const Diagnostic& d, const std::vector<std::string_view>& source) {
  std::string text;
  if (!d.file.empty())
    text = fmt::format("{}:{}: {}: {}", d.file, d.line, word_of(d.severity), d.message);
  else if (d.line > 0)
    text = fmt::format("line {}: {}: {}", d.line, word_of(d.severity), d.message);
  else
    text = fmt::format("{}: {}", word_of(d.severity), d.message);
  if (d.file.empty() && d.line > 0 && static_cast<std::size_t>(d.line) <= source.size()) {
    text += fmt::format("\n    {}", source[static_cast<std::size_t>(d.line) - 1]);
    if (d.column > 0) text += fmt::format("\n    {:>{}}", "^", d.column);
  }
  return text;
}

}  // namespace

std::string describe_diagnostics(const Build& build, int at_most) {
  std::vector<std::string_view> source = lines_of(build.source);
  std::string text;
  int errors = 0, left_out = 0;
  bool follow = false;  // notes belong to the diagnostic before them
  for (const Diagnostic& d : build.diagnostics) {
    if (d.severity == Diagnostic::Severity::error) {
      follow = errors < at_most;
      if (follow)
        ++errors;
      else
        ++left_out;
    } else if (d.severity == Diagnostic::Severity::warning) {
      follow = false;
    }
    if (follow) text += describe(d, source) + "\n";
  }
  if (left_out > 0) text += fmt::format("and {} more errors\n", left_out);
  return text;
}

}  // namespace kp
