#include "prompt/render.h"

#include <algorithm>

#include "base/assets.h"
#include "base/result.h"
#include "base/text.h"

namespace kp {
namespace {

std::size_t backticks(std::string_view line) {
  std::size_t n = std::min(line.find_first_not_of('`'), line.size());
  return n >= 3 ? n : 0;
}

// Sections that are off leave empty lines behind: outside of fenced blocks, one is enough.
std::string without_gaps(std::string_view text) {
  std::string out;
  std::size_t fence = 0;  // backticks of the block that is open; 0: none
  bool gap = true;        // the line before was empty
  for (std::string_view line : lines_of(text)) {
    std::size_t n = backticks(line);
    if (fence == 0) {
      fence = n;
    } else if (n >= fence && n == line.size()) {
      fence = 0;
    }
    bool empty = fence == 0 && trim(line).empty();
    if (!(empty && gap)) out += std::string(line) + "\n";
    gap = empty;
  }
  return out;
}

}  // namespace

std::string render(std::string_view path, const kainjow::mustache::data& data) {
  kainjow::mustache::mustache page{std::string(asset(path))};
  page.set_custom_escape([](const std::string& text) { return text; });
  KP_CHECK(page.is_valid());
  std::string out = page.render(data);
  KP_CHECK(page.is_valid());
  return without_gaps(out);
}

}  // namespace kp
