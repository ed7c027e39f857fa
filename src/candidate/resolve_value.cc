// Typed values in a kernel's argument list.
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/half.h"
#include "base/text.h"
#include "candidate/scope.h"
#include "task/check.h"

namespace kp {

namespace {

constexpr const char* kTypes = "i32, i64, u32, u64, f32, f64, f16, bf16, real";

template <class T>
std::vector<std::uint8_t> bytes_of(T value) {
  std::vector<std::uint8_t> bytes(sizeof(T));
  std::memcpy(bytes.data(), &value, sizeof(T));  // hosts and devices of CUDA are little-endian
  return bytes;
}

Result<std::vector<std::uint8_t>> integer_bytes(const std::string& type, const std::string& expr,
                                                const Scope& scope, const std::string& where) {
  using I64 = std::numeric_limits<std::int64_t>;
  using I32 = std::numeric_limits<std::int32_t>;
  std::int64_t low = type == "i64" ? I64::min() : type == "i32" ? I32::min() : 0;
  std::int64_t high = type == "i32"   ? I32::max()
                      : type == "u32" ? std::numeric_limits<std::uint32_t>::max()
                                      : I64::max();
  KP_ASSIGN(std::int64_t value, scope.number(expr, low, high, where));
  if (type == "i32" || type == "u32") return bytes_of(static_cast<std::uint32_t>(value));
  return bytes_of(static_cast<std::uint64_t>(value));
}

// A literal ("1e-5", "2.0f", "-inf"), or the value of a scalar or size.
Result<double> floating_value(std::string_view text, const Scope& scope, const std::string& where) {
  std::string name(text);
  if (auto it = scope.scalars.find(name); it != scope.scalars.end()) return it->second;
  if (auto it = scope.sizes.find(name); it != scope.sizes.end())
    return static_cast<double>(it->second);
  std::string_view digits = text;
  if (digits.size() > 1 && (digits.back() == 'f' || digits.back() == 'F') &&
      (std::isdigit(static_cast<unsigned char>(digits[digits.size() - 2])) != 0 ||
       digits[digits.size() - 2] == '.'))
    digits.remove_suffix(1);
  if (starts_with(digits, "+") && !starts_with(digits, "+-")) digits.remove_prefix(1);
  double value = 0;
  auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (code == std::errc() && end == digits.data() + digits.size() && !digits.empty()) return value;
  std::vector<std::string> known;
  for (const auto& [scalar, unused] : scope.scalars) known.push_back(scalar);
  for (const auto& [size, unused] : scope.sizes) known.push_back(size);
  return fail(fmt::format("{}: \"{}\" is not a number, a scalar or a size of the task{}", where,
                          text, is_identifier(text) ? did_you_mean(text, known) : ""),
              "floating values are a literal or one name; compute the rest in the kernel");
}

Result<std::vector<std::uint8_t>> floating_bytes(DType type, const std::string& text,
                                                 const Scope& scope, const std::string& where) {
  KP_ASSIGN(double value, floating_value(text, scope, where));
  std::vector<std::uint8_t> bytes;
  bool overflows = false;
  if (type == DType::f64) {
    bytes = bytes_of(value);
  } else if (type == DType::f32) {
    // A double above all floats rounds to infinity (IEC 559).
    overflows = std::isinf(static_cast<float>(value));
    bytes = bytes_of(static_cast<float>(value));
  } else if (type == DType::f16) {
    overflows = std::isinf(from_f16(to_f16(value)));
    bytes = bytes_of(to_f16(value));
  } else {
    overflows = std::isinf(from_bf16(to_bf16(value)));
    bytes = bytes_of(to_bf16(value));
  }
  if (overflows && std::isfinite(value))
    return fail(fmt::format("{}: {} does not fit {}", where, value, name_of(type)));
  return bytes;
}

}  // namespace

Result<ValueArg> resolve_value(const std::string& text, const Scope& scope,
                               const std::string& where) {
  std::size_t colon = text.find(':');
  KP_CHECK(colon != std::string::npos);
  std::string type(trim(std::string_view(text).substr(0, colon)));
  std::string value(trim(std::string_view(text).substr(colon + 1)));
  if (value.empty()) return fail(fmt::format("{}: \"{}\" has no value", where, text));
  if (scope.storage.contains(value))
    return fail(fmt::format("{}: \"{}\" is a tensor or buffer, not a number", where, value),
                fmt::format("pass its address as \"{}\"", value));
  if (type == "i32" || type == "i64" || type == "u32" || type == "u64") {
    KP_ASSIGN(auto bytes, integer_bytes(type, value, scope, where));
    return ValueArg{std::move(bytes), text};
  }
  if (type == "f32" || type == "f64" || type == "f16" || type == "bf16" || type == "real") {
    DType dtype = scope.real;
    if (type != "real") {
      KP_ASSIGN(dtype, parse_dtype(type));
    }
    KP_ASSIGN(auto bytes, floating_bytes(dtype, value, scope, where));
    return ValueArg{std::move(bytes), text};
  }
  return fail(fmt::format("{}: unknown type \"{}\" in \"{}\"", where, type, text),
              fmt::format("types of values: {}", kTypes));
}

}  // namespace kp
