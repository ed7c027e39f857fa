#pragma once
// Words of one finding: its template filled with its numbers.
#include "directives/directive.h"

namespace kp {

struct Words {
  std::string title;
  std::string text;
  std::vector<std::string> missing;  // variables that the template asks for and the finding lacks
};

// A number as people write it; the end of its name gives the unit: dram_gbs 3421 -> "3.42 TB/s".
std::string format_number(std::string_view name, double value);

// The template is a mustache text: first line "# title", then the body. It may use the finding's
// numbers (formatted) and words by their names, and kernel, line, sass, predicted_gain, gain_model.
// {{#has_x}} holds where x is there.
Words render(const Finding& finding, std::string_view template_text);

// The same with the finding's own template, assets/directives/<tool>/<cause>.md, and the gain.
Words words_of(const Finding& finding);

}  // namespace kp
