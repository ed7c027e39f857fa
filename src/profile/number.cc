#include "profile/number.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <vector>

#include "base/text.h"

namespace kp {

namespace {

bool digits(std::string_view s) {
  return !s.empty() && std::all_of(s.begin(), s.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// "1", "234", "567" of a number grouped in thousands by `separator`; false when it is no grouping.
bool grouped(std::string_view s, char separator, std::string& plain) {
  auto parts = split(s, separator);
  if (parts.size() < 2 || !digits(parts[0]) || parts[0].size() > 3 || parts[0][0] == '0')
    return false;
  plain = std::string(parts[0]);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (parts[i].size() != 3 || !digits(parts[i])) return false;
    plain += parts[i];
  }
  return true;
}

// Digits grouped or not.
bool whole_part(std::string_view s, char separator, std::string& plain) {
  if (digits(s)) {
    plain = std::string(s);
    return true;
  }
  return grouped(s, separator, plain);
}

// `s` as digits, grouped by `group` or not, with a fraction after `point` or without.
bool parse_as(std::string_view s, char point, char group, std::string& plain) {
  std::size_t at = s.find(point);
  if (at == std::string_view::npos) return whole_part(s, group, plain);
  std::string_view fraction = s.substr(at + 1);
  if (!whole_part(s.substr(0, at), group, plain) || !digits(fraction)) return false;
  plain += ".";
  plain += fraction;
  return true;
}

// Mantissa and exponent of "1.5e+06"; the exponent is empty when there is none.
struct Split {
  std::string_view mantissa, exponent;
};

Split split_exponent(std::string_view s) {
  std::size_t at = s.find_first_of("eE");
  if (at == std::string_view::npos) return {s, {}};
  return {s.substr(0, at), s.substr(at + 1)};
}

bool exponent_ok(std::string_view s) {
  if (!s.empty() && (s[0] == '+' || s[0] == '-')) s.remove_prefix(1);
  return digits(s) && s.size() <= 3;
}

}  // namespace

bool only_decimal_comma(std::string_view text) {
  std::string_view s = trim(text);
  std::string plain;
  return !parse_as(s, '.', ',', plain) && parse_as(s, ',', '.', plain);
}

ParsedNumber parse_number(std::string_view text, NumberStyle style) {
  std::string_view s = trim(text);
  if (s.empty()) return {0, NotANumber::empty};
  bool negative = s[0] == '-';
  if (negative) s.remove_prefix(1);
  Split parts = split_exponent(s);
  bool has_exponent = parts.mantissa.size() != s.size();
  if (has_exponent && !exponent_ok(parts.exponent)) return {0, NotANumber::no_number};
  std::string with_point, with_comma;
  bool point = parse_as(parts.mantissa, '.', ',', with_point);
  bool comma = parse_as(parts.mantissa, ',', '.', with_comma);
  if (!point && !comma) return {0, NotANumber::no_number};
  if (point && comma && with_point != with_comma && style == NumberStyle::comma)
    return {0, NotANumber::ambiguous};
  if (negative) return {0, NotANumber::negative};
  std::string plain = point ? with_point : with_comma;
  if (has_exponent) plain += "e" + std::string(parts.exponent);
  double value = 0;
  auto [end, error] = std::from_chars(plain.data(), plain.data() + plain.size(), value);
  if (error != std::errc() || end != plain.data() + plain.size() || !std::isfinite(value))
    return {0, NotANumber::no_number};
  return {value, NotANumber::none};
}

namespace {

// ncu's prefixes are decimal: 32768 bytes are printed as 32.77 Kbyte.
std::optional<double> decimal_prefix(std::string_view prefix) {
  if (prefix.empty()) return 1;
  if (prefix == "K" || prefix == "k") return 1e3;
  if (prefix == "M") return 1e6;
  if (prefix == "G") return 1e9;
  if (prefix == "T") return 1e12;
  if (prefix == "P") return 1e15;
  return std::nullopt;
}

// Factor of "Kbyte" for the noun "byte".
std::optional<double> prefixed(std::string_view unit, std::string_view noun) {
  if (!ends_with(unit, noun)) return std::nullopt;
  return decimal_prefix(unit.substr(0, unit.size() - noun.size()));
}

std::optional<double> to_us(std::string_view unit) {
  if (unit == "ns" || unit == "nsecond" || unit == "nanosecond") return 1e-3;
  if (unit == "us" || unit == "usecond" || unit == "microsecond") return 1;
  if (unit == "ms" || unit == "msecond" || unit == "millisecond") return 1e3;
  if (unit == "s" || unit == "second" || unit == "sec") return 1e6;
  return std::nullopt;
}

std::string_view without_suffix(std::string_view unit,
                                const std::vector<std::string_view>& suffixes) {
  for (std::string_view suffix : suffixes) {
    if (ends_with(unit, suffix)) return unit.substr(0, unit.size() - suffix.size());
  }
  return unit;
}

std::optional<double> to_bytes(std::string_view unit) {
  std::string_view noun = without_suffix(unit, {"/block", "/sector"});
  if (auto factor = prefixed(noun, "byte")) return factor;
  if (auto factor = prefixed(noun, "sector")) return *factor * 32;
  return std::nullopt;
}

std::optional<double> to_gbs(std::string_view unit) {
  std::string_view noun = without_suffix(unit, {"/second", "/sec", "/s"});
  if (noun.size() == unit.size()) return std::nullopt;
  auto factor = prefixed(noun, "byte");
  return factor ? std::optional(*factor * 1e-9) : std::nullopt;
}

// Counts, and averages of counts: ncu prints what was counted, sometimes over a cycle.
std::optional<double> to_count(std::string_view unit) {
  static constexpr std::array<std::string_view, 12> kNouns = {
      "inst",   "sector",  "sectors",  "cycle",    "warp",    "block",
      "thread", "request", "requests", "branches", "cluster", "wave"};
  std::string_view noun = without_suffix(unit, {"/cycle", "/warp", "/inst", "/thread", "/block"});
  if (noun.empty()) return unit.empty() ? std::optional(1.0) : std::nullopt;
  if (noun == "register" || noun == "SM") return 1;
  for (std::string_view known : kNouns) {
    if (auto factor = prefixed(noun, known)) return factor;
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> convert_unit(double value, std::string_view ncu_unit, std::string_view to,
                                   std::string_view counter) {
  std::string_view unit = trim(ncu_unit);
  std::optional<double> factor;
  if (to == "%") {
    if (unit == "%" || (unit.empty() && contains(counter, "pct"))) factor = 1;
  } else if (to == "us") {
    factor = to_us(unit);
  } else if (to == "byte") {
    factor = to_bytes(unit);
  } else if (to == "GB/s") {
    factor = to_gbs(unit);
  } else if (to == "1" || to == "warp-cycle") {
    factor = to_count(unit);
  }
  if (!factor) return std::nullopt;
  return value * *factor;
}

}  // namespace kp
