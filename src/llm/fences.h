#pragma once
// The fenced blocks of a Markdown text (CommonMark, section 4.5), and plans in the wild.
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kp {

struct Fence {
  std::string language;  // first word of the info string, lower case; may be empty
  std::string text;      // lines end in '\n'; the opening fence's indent is taken off
  int line = 0;          // of the opening fence, from 1
};

struct Markdown {
  std::vector<Fence> fences;       // closed ones, in order
  std::vector<std::string> prose;  // lines outside fences
  int open_line = 0;               // a fence that opens here is never closed; 0: none
};

// A line that opens a fence inside a fence of the same kind means that the outer one was never
// closed (or was a wrapper around the whole reply): the outer one is dropped. An opening fence with
// nothing after it is passed over.
Markdown read_markdown(std::string_view text);

// Blanks what models think: <think>...</think> and <thinking>...</thinking>; a closing tag alone
// ends a thought that began before the text. Lines keep their numbers. Error: a thought never ends.
Result<std::string> without_thoughts(std::string_view text);

// Blanks // and /* */ comments and trailing commas outside of strings. Same length, same lines.
std::string plain_json(std::string_view text);

}  // namespace kp
