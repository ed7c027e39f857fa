#include "llm/fences.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace kp {
namespace {

struct Mark {  // a line of three or more backticks or tildes
  char kind = 0;
  std::size_t count = 0;
  std::size_t indent = 0;
  std::string_view info;
};

Mark mark_of(std::string_view line) {
  Mark mark;
  mark.indent = std::min(line.find_first_not_of(" \t"), line.size());
  std::string_view rest = line.substr(mark.indent);
  if (rest.empty() || (rest[0] != '`' && rest[0] != '~')) return {};
  mark.count = std::min(rest.find_first_not_of(rest[0]), rest.size());
  mark.info = trim(rest.substr(mark.count));
  if (mark.count < 3 || (rest[0] == '`' && contains(mark.info, "`"))) return {};
  mark.kind = rest[0];
  return mark;
}

std::string language_of(std::string_view info) {
  return lower(info.substr(0, info.find_first_of(" \t,:{")));
}

void blank(std::string& text, std::size_t from, std::size_t to) {
  for (std::size_t i = from; i < std::min(to, text.size()); ++i) {
    if (text[i] != '\n') text[i] = ' ';
  }
}

}  // namespace

Markdown read_markdown(std::string_view text) {
  Markdown out;
  Fence open;
  Mark opened;  // kind 0: outside
  auto begin = [&](const Mark& mark, int number) {
    opened = mark;
    open = Fence{language_of(mark.info), "", number};
  };
  int number = 0;
  for (std::string_view line : lines_of(text)) {
    ++number;
    Mark mark = mark_of(line);
    if (opened.kind == 0) {
      if (mark.kind != 0) {
        begin(mark, number);
      } else {
        out.prose.emplace_back(line);
      }
    } else if (mark.kind == opened.kind && mark.count >= opened.count && mark.info.empty()) {
      out.fences.push_back(std::exchange(open, {}));
      opened = {};
    } else if (mark.kind == opened.kind && mark.count >= opened.count) {
      begin(mark, number);
    } else {
      std::size_t indent = std::min(line.find_first_not_of(" \t"), line.size());
      open.text += line.substr(std::min(indent, opened.indent));
      open.text += '\n';
    }
  }
  if (opened.kind != 0 && !trim(open.text).empty()) out.open_line = open.line;
  return out;
}

Result<std::string> without_thoughts(std::string_view text) {
  std::string out(text);
  for (const std::string tag : {"think>", "thinking>"}) {
    std::string low = lower(out);
    std::size_t at = 0;
    while (true) {
      std::size_t open = low.find("<" + tag, at);
      std::size_t close = low.find("</" + tag, at);
      if (close == std::string::npos) {
        if (open == std::string::npos) break;
        return fail(fmt::format("the reply ends inside a <{} that is never closed", tag),
                    "finish the reasoning and write the answer after it");
      }
      std::size_t from = open < close ? open : at;
      at = close + tag.size() + 2;
      blank(out, from, at);
    }
  }
  return out;
}

std::string plain_json(std::string_view text) {
  std::string out(text);
  std::size_t comma = std::string::npos;  // the last token, when it is a comma
  for (std::size_t i = 0; i < out.size(); ++i) {
    char c = out[i];
    if (c == '"') {
      for (++i; i < out.size() && out[i] != '"' && out[i] != '\n'; ++i) {
        if (out[i] == '\\') ++i;
      }
      comma = std::string::npos;
    } else if (c == '/' && i + 1 < out.size() && (out[i + 1] == '/' || out[i + 1] == '*')) {
      bool line = out[i + 1] == '/';
      std::size_t end = line ? out.find('\n', i) : out.find("*/", i + 2);
      end = end == std::string::npos ? out.size() : end + (line ? 0 : 2);
      blank(out, i, end);
      i = end - 1;
    } else if (c == '}' || c == ']') {
      if (comma != std::string::npos) out[comma] = ' ';
      comma = std::string::npos;
    } else if (c == ',') {
      comma = i;
    } else if (c != ' ' && c != '\t' && c != '\n' && c != '\r') {
      comma = std::string::npos;
    }
  }
  return out;
}

}  // namespace kp
