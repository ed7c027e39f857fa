// nvdisasm's and cuobjdump's text → instructions by function.
#include "profile/sass.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/text.h"
#include "profile/names.h"
#include "profile/sass_text.h"

namespace kp {

bool parse_instruction(std::string_view text, SassInstruction& out) {
  if (std::size_t comment = text.find("/*"); comment != std::string_view::npos)
    text = text.substr(0, comment);
  text = trim(text);
  while (!text.empty() && (text.back() == ';' || text.back() == '}' || text.back() == '{'))
    text = trim(text.substr(0, text.size() - 1));
  if (starts_with(text, "{")) text = trim(text.substr(1));
  if (starts_with(text, "@")) {
    std::size_t end = text.find_first_of(" \t");
    if (end == std::string_view::npos) return false;
    out.predicate = std::string(text.substr(0, end));
    text = trim(text.substr(end));
  }
  if (text.empty() || text[0] < 'A' || text[0] > 'Z') return false;
  std::size_t end = text.find_first_of(" \t");
  out.opcode = std::string(text.substr(0, end));
  if (end != std::string_view::npos) out.operands = std::string(trim(text.substr(end)));
  return true;
}

namespace {

std::optional<std::uint32_t> hex_value(std::string_view digits) {
  std::uint32_t value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

// "/*01f0*/   @P1 BRA `(.L_x_4) ;": address and the rest.
bool split_address(std::string_view line, std::uint32_t& address, std::string_view& rest) {
  std::string_view s = trim(line);
  if (!starts_with(s, "/*")) return false;
  std::size_t close = s.find("*/");
  if (close == std::string_view::npos || close < 6) return false;
  auto value = hex_value(s.substr(2, close - 2));
  if (!value) return false;
  address = *value;
  rest = s.substr(close + 2);
  return true;
}

// "//## File "a.cu", line 12 inlined at "b.cu", line 40" → both places, innermost first.
struct Place {
  std::string file;
  int line = 0;
};

std::vector<Place> places_of(std::string_view comment) {
  std::vector<Place> places;
  constexpr std::string_view kLine = "\", line ";
  while (true) {
    std::size_t open = comment.find('"');
    std::size_t close = comment.find(kLine);
    if (open == std::string_view::npos || close == std::string_view::npos || close < open)
      return places;
    Place place;
    place.file = std::string(comment.substr(open + 1, close - open - 1));
    comment.remove_prefix(close + kLine.size());
    std::from_chars(comment.data(), comment.data() + comment.size(), place.line);
    places.push_back(std::move(place));
  }
}

class Parser {
 public:
  std::vector<SassSummary> parse(std::string_view text) {
    for (std::string_view line : lines_of(text)) take(line);
    finish();
    return std::move(functions_);
  }

 private:
  void take(std::string_view line) {
    std::string_view s = trim(line);
    std::uint32_t address = 0;
    std::string_view rest;
    if (starts_with(s, "Function :")) {
      begin(trim(s.substr(10)));
    } else if (starts_with(s, ".section")) {
      section(trim(s.substr(8)));
    } else if (starts_with(s, "//##")) {
      if (!after_places_) places_.clear();
      after_places_ = true;
      for (Place& p : places_of(s)) places_.push_back(std::move(p));
    } else if (!s.empty() && s.back() == ':' && line[0] != ' ' && line[0] != '\t') {
      new_labels_.emplace_back(s.substr(0, s.size() - 1));
    } else if (split_address(s, address, rest)) {
      instruction(address, rest);
    }
  }

  void begin(std::string_view name) {
    finish();
    inside_ = true;
    current_.signature = std::string(name);
    current_.function = function_name(name);
  }

  void section(std::string_view text) {
    std::string_view name = text.substr(0, text.find(','));
    if (starts_with(name, ".text.")) {
      begin(name.substr(6));
    } else {
      finish();
    }
  }

  void instruction(std::uint32_t address, std::string_view text) {
    SassInstruction i;
    i.address = address;
    if (!inside_ || !parse_instruction(text, i)) return;
    for (const std::string& label : new_labels_) labels_[label] = address;
    new_labels_.clear();
    after_places_ = false;
    i.line = line();
    current_.code.push_back(std::move(i));
  }

  // The innermost place in the file that the kernel itself is in; 0 when there is none.
  int line() {
    if (places_.empty()) return 0;
    if (kernel_file_.empty()) kernel_file_ = places_.back().file;
    for (const Place& p : places_) {
      if (p.file == kernel_file_) return p.line;
    }
    return 0;
  }

  void finish() {
    if (inside_ && !current_.code.empty()) {
      for (SassInstruction& i : current_.code) resolve(i.operands);
      summarize(current_);
      functions_.push_back(std::move(current_));
    }
    current_ = {};
    labels_.clear();
    new_labels_.clear();
    places_.clear();
    kernel_file_.clear();
    inside_ = after_places_ = false;
  }

  // "`(.L_x_4)" → "0x1f0".
  void resolve(std::string& operands) const {
    std::size_t open = operands.find("`(");
    if (open == std::string::npos) return;
    std::size_t close = operands.find(')', open);
    if (close == std::string::npos) return;
    auto it = labels_.find(operands.substr(open + 2, close - open - 2));
    if (it != labels_.end())
      operands.replace(open, close - open + 1, fmt::format("{:#x}", it->second));
  }

  std::vector<SassSummary> functions_;
  SassSummary current_;
  bool inside_ = false;
  std::map<std::string, std::uint32_t> labels_;
  std::vector<std::string> new_labels_;  // of the next instruction
  std::vector<Place> places_;            // of the instructions that follow
  bool after_places_ = false;            // the line before was a place
  std::string kernel_file_;
};

}  // namespace

Result<std::vector<SassSummary>> parse_sass(std::string_view text) {
  std::vector<SassSummary> functions = Parser().parse(text);
  if (functions.empty())
    return fail("no function with instructions in the disassembly",
                "give the output of: nvdisasm -c FILE.cubin, or cuobjdump -sass FILE");
  return functions;
}

}  // namespace kp
