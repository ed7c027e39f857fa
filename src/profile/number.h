#pragma once
// Numbers as profilers print them, and their units. A text that could be read in two ways is no
// number.
#include <optional>
#include <string>
#include <string_view>

namespace kp {

// Which way round a file writes "1,234.5". ncu follows the machine's locale.
enum class NumberStyle {
  point,  // "1,234.5": nothing in the file speaks against it
  comma,  // some number of the file can only be read as "1.234,5" or "0,17"
};

// True when `text` is a number that only makes sense with a decimal comma ("0,17", "1.234,5").
bool only_decimal_comma(std::string_view text);

enum class NotANumber { none, empty, no_number, ambiguous, negative };
struct ParsedNumber {
  double value = 0;
  NotANumber problem = NotANumber::none;
};

// In style `comma` a single separator before three digits ("1.234", "1,234") is ambiguous.
// Counters are never negative, so a negative number is refused too.
ParsedNumber parse_number(std::string_view text, NumberStyle style);

// `value` in ncu's unit → in a metric's unit ("%", "us", "byte", "GB/s", "1", "warp-cycle").
// nullopt when the unit is of another kind or unknown. `counter` tells the unit of shares of a peak
// in files without a units row.
std::optional<double> convert_unit(double value, std::string_view ncu_unit, std::string_view to,
                                   std::string_view counter);

}  // namespace kp
