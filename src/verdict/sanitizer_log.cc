// Reads compute-sanitizer's text. A report begins with "========= " and a word; the lines that
// belong to it are indented.
#include <fmt/format.h>

#include <charconv>
#include <regex>

#include "base/text.h"
#include "verdict/sanitizer.h"

namespace kp {

namespace {

constexpr std::string_view kPrefix = "=========";

struct Block {
  std::string head;
  std::vector<std::string> rest;  // trimmed
};

std::vector<Block> blocks_of(std::string_view log) {
  std::vector<Block> blocks;
  for (std::string_view line : split(log, '\n')) {
    if (!starts_with(line, kPrefix)) continue;
    std::string_view text = line.substr(kPrefix.size());
    std::string words(trim(text));
    if (words.empty()) continue;
    bool indented = starts_with(text, "    ");
    if (!indented || blocks.empty()) {
      blocks.push_back({std::move(words), {}});
    } else {
      blocks.back().rest.push_back(std::move(words));
    }
  }
  return blocks;
}

// "k(float *, int)" -> "k"; "void k<(int)4>(float *)" -> "k<(int)4>".
std::string without_parameters(std::string name) {
  if (!name.empty() && name.back() == ')') {
    int depth = 0;
    for (std::size_t i = name.size(); i-- > 0;) {
      if (name[i] == ')') ++depth;
      if (name[i] == '(' && --depth == 0) {
        name.erase(i);
        break;
      }
    }
  }
  if (starts_with(name, "void ")) name.erase(0, 5);
  return name;
}

int number(const std::string& text) {
  int value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// "... at k(float *)+0x90 in k.cu:6": the place of the first such words.
bool find_place(const std::string& text, SanitizerIssue& issue) {
  static const std::regex place(R"(\bat (.+?)\+0x[0-9a-f]+(?: in ([^ \]]+):(\d+))?)");
  static const std::regex older(R"(\bat 0x[0-9a-f]+ in (?:([^ ]+):(\d+):)?(.+))");
  std::smatch m;
  if (std::regex_search(text, m, place)) {
    issue.kernel = without_parameters(m[1]);
    issue.file = m[2];
    issue.line = number(m[3]);
    return true;
  }
  if (std::regex_search(text, m, older)) {
    issue.kernel = without_parameters(m[3]);
    issue.file = m[1];
    issue.line = number(m[2]);
    return true;
  }
  return false;
}

bool is_summary(const std::string& head) {
  return contains(head, "SUMMARY:");
}

// Words of the tool about itself, not about the program.
bool is_trouble(const std::string& head) {
  for (const char* words :
       {"Internal Sanitizer Error", "Device not supported", "Error: No attachable",
        "Error: Target application", "Unable to", "Insufficient", "Error: Failed"})
    if (contains(head, words)) return true;
  return false;
}

// The tool stopped writing reports down; the summary still counts them all.
bool is_overflow(const std::string& head) {
  return contains(head, "error buffer overflow") || contains(head, "Error buffer overflow") ||
         contains(head, "errors were skipped") || contains(head, "errors not printed");
}

bool is_noise(const std::string& head) {
  for (const char* words : {"COMPUTE-SANITIZER", "Target application returned", "Program hit",
                            "Warning: Detected overlap", "The current target application",
                            "No more", "was not reached"})
    if (contains(head, words)) return true;
  return false;
}

SanitizerIssue issue_of(const Block& block) {
  SanitizerIssue issue;
  issue.what = block.head;
  for (const char* word : {"Error: ", "Warning: ", "Info: "}) {
    if (!starts_with(issue.what, word)) continue;
    issue.warning = *word != 'E';
    issue.what.erase(0, std::string_view(word).size());
  }
  bool placed = find_place(block.head, issue);
  if (placed) issue.what = issue.what.substr(0, issue.what.find(" at "));
  for (const std::string& line : block.rest) {
    if (!placed && find_place(line, issue)) {
      placed = true;
      continue;
    }
    if (starts_with(line, "Saved host backtrace") || starts_with(line, "Host Frame") ||
        starts_with(line, "Device Frame") || starts_with(line, "in /"))
      continue;
    issue.detail += (issue.detail.empty() ? "" : "; ") + line;
  }
  return issue;
}

void add(std::vector<SanitizerIssue>& issues, SanitizerIssue issue) {
  for (auto& known : issues) {
    if (known.what != issue.what || known.kernel != issue.kernel || known.line != issue.line)
      continue;
    ++known.times;
    return;
  }
  issues.push_back(std::move(issue));
}

// The number before "error" or "hazard" in a summary; -1 when there is none.
int errors_in(const std::string& summary) {
  static const std::regex race(R"(\((\d+) errors?)");
  static const std::regex plain(R"(SUMMARY: (\d+) (?:error|hazard))");
  std::smatch m;
  if (std::regex_search(summary, m, race)) return number(m[1]);
  return std::regex_search(summary, m, plain) ? number(m[1]) : -1;
}

}  // namespace

SanitizerRun read_sanitizer_log(std::string_view tool, std::string_view log,
                                const OnceProof* proof) {
  SanitizerRun run;
  run.tool = tool;
  if (proof != nullptr) run.launches = proof->launches;
  int errors = -1;
  std::string overflow;
  for (const Block& block : blocks_of(log)) {
    if (is_summary(block.head)) {
      errors = std::max(errors, errors_in(block.head));
    } else if (is_trouble(block.head)) {
      run.note = block.head;
    } else if (is_overflow(block.head)) {
      overflow = block.head;
    } else if (!is_noise(block.head)) {
      add(run.issues, issue_of(block));
    }
  }
  if (errors > 0) {
    run.status = SanitizerRun::Status::issues;
    run.note = overflow;
    if (run.issues.empty())
      run.note = fmt::format("the summary counts {} errors, none is described", errors);
    return run;
  }
  if (!run.note.empty()) return run;
  if (errors < 0) {
    run.note = "the tool printed no summary";
  } else if (proof == nullptr) {
    run.note = "the candidate did not run to its end under the tool";
  } else if (proof->launches == 0) {
    run.note = "no kernel was launched under the tool";
  } else if (!proof->outputs_written) {
    run.note = "the kernels ran but wrote no output under the tool";
  } else {
    run.status = SanitizerRun::Status::clean;
  }
  return run;
}

}  // namespace kp
