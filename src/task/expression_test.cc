#include "task/expression.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "base/rng.h"
#include "base/text.h"

namespace kp {
namespace {

const Sizes kSizes{{"B", 8}, {"N", 1000}, {"x_numel", 8000}, {"big", INT64_MAX}};

std::int64_t value(std::string_view text) {
  auto result = evaluate(text, kSizes);
  EXPECT_TRUE(result.has_value()) << text << ": " << result.error().message;
  return result.value_or(-999999);
}

std::string message(std::string_view text) {
  auto result = evaluate(text, kSizes);
  EXPECT_FALSE(result.has_value()) << text << " = " << *result;
  return result ? "" : result.error().message;
}

TEST(Expression, Values) {
  EXPECT_EQ(value("256"), 256);
  EXPECT_EQ(value(" N "), 1000);
  EXPECT_EQ(value("ceil_div(N, 256)"), 4);
  EXPECT_EQ(value("ceil_div(x_numel, 1000)"), 8);
  EXPECT_EQ(value("2 + 3 * 4"), 14);
  EXPECT_EQ(value("(2 + 3) * 4"), 20);
  EXPECT_EQ(value("100 - 10 - 1"), 89);
  EXPECT_EQ(value("100 / 10 / 3"), 3);
  EXPECT_EQ(value("N % 7 * 2"), 12);
  EXPECT_EQ(value("-N + +1"), -999);
  EXPECT_EQ(value("--3"), 3);
  EXPECT_EQ(value("-7 / 2"), -3);
  EXPECT_EQ(value("-7 % 2"), -1);
  EXPECT_EQ(value("min(N, B, 9) + max(1, B)"), 16);
  EXPECT_EQ(value("ceil_div(-7, 2)"), -3);
  EXPECT_EQ(value("ceil_div(7, -2)"), -3);
  EXPECT_EQ(value("ceil_div(-7, -2)"), 4);
  EXPECT_EQ(value("9223372036854775807"), INT64_MAX);
}

TEST(Expression, ErrorsSayWhatAndWhere) {
  EXPECT_EQ(message("x_nume + 1"),
            "\"x_nume + 1\": unknown name \"x_nume\" (did you mean \"x_numel\"?) (column 1)");
  EXPECT_EQ(message("1 + quux"), "\"1 + quux\": unknown name \"quux\" (column 5)");
  EXPECT_EQ(message("ceildiv(N, 2)"),
            "\"ceildiv(N, 2)\": unknown name \"ceildiv\" (did you mean \"ceil_div\"?) (column 1)");
  EXPECT_EQ(message("N +"),
            "\"N +\": expected a number, name or '(', but the expression ends (column 4)");
  EXPECT_EQ(message(""),
            "\"\": expected a number, name or '(', but the expression ends (column 1)");
  EXPECT_EQ(message("(N"), "\"(N\": expected ')', but the expression ends (column 3)");
  EXPECT_EQ(message("N B"), "\"N B\": unexpected 'B' (column 3)");
  EXPECT_EQ(message("N ** 2"), "\"N ** 2\": unexpected '*' (column 4)");
  EXPECT_EQ(message("N // 2"), "\"N // 2\": unexpected '/' (column 4)");
  EXPECT_EQ(message("1.5"), "\"1.5\": only whole decimal numbers are allowed here (column 2)");
  EXPECT_EQ(message("0x10"), "\"0x10\": only whole decimal numbers are allowed here (column 2)");
  EXPECT_EQ(message("N / (B - 8)"), "\"N / (B - 8)\": division by zero (column 12)");
  EXPECT_EQ(message("N % 0"), "\"N % 0\": division by zero (column 6)");
  EXPECT_EQ(message("ceil_div(N, 0)"), "\"ceil_div(N, 0)\": division by zero (column 15)");
  EXPECT_EQ(message("ceil_div(N)"), "\"ceil_div(N)\": ceil_div takes two values, not 1 (column 1)");
  EXPECT_EQ(message("min(N)"), "\"min(N)\": min takes two or more values, not 1 (column 1)");
  EXPECT_EQ(message("min()"), "\"min()\": unexpected ')' (column 5)");
  EXPECT_TRUE(contains(message(std::string_view("5\0 6", 4)), "column 2"));
}

TEST(Expression, OverflowIsAnError) {
  EXPECT_TRUE(contains(message("big + 1"), "does not fit 64 bits"));
  EXPECT_TRUE(contains(message("big * 2"), "does not fit 64 bits"));
  EXPECT_TRUE(contains(message("-big - 2"), "does not fit 64 bits"));
  EXPECT_TRUE(contains(message("(-big - 1) / -1"), "does not fit 64 bits"));
  EXPECT_TRUE(contains(message("(-big - 1) % -1"), "does not fit 64 bits"));
  EXPECT_TRUE(contains(message("-(-big - 1)"), "does not fit 64 bits"));
  EXPECT_TRUE(contains(message("ceil_div(-big - 1, -1)"), "does not fit 64 bits"));
  EXPECT_TRUE(contains(message("9223372036854775808"), "does not fit 64 bits"));
}

TEST(Expression, DepthAndLengthAreBounded) {
  EXPECT_TRUE(contains(message(std::string(1000, '(')), "nested deeper than"));
  EXPECT_TRUE(contains(message(std::string(1000, '-') + "1"), "nested deeper than"));
  EXPECT_EQ(value(std::string(90, '(') + "1" + std::string(90, ')')), 1);
  EXPECT_TRUE(contains(message(std::string(3000, '1')), "at most 2000"));
}

// A random expression and, worked out beside it in 128 bits, its value: nothing when some step of
// it divides by zero or leaves 64 bits.
struct Sample {
  std::string text;
  std::optional<std::int64_t> value;
};

__extension__ typedef __int128 Wide;  // not ISO C++, but wide enough for any one operation

std::optional<std::int64_t> fit(Wide v) {
  if (v < std::numeric_limits<std::int64_t>::min() || v > std::numeric_limits<std::int64_t>::max())
    return std::nullopt;
  return static_cast<std::int64_t>(v);
}

std::optional<std::int64_t> combine(std::size_t op, std::optional<std::int64_t> left,
                                    std::optional<std::int64_t> right) {
  if (!left || !right) return std::nullopt;
  Wide a = *left;
  Wide b = *right;
  if (op == 0) return fit(a + b);
  if (op == 1) return fit(a - b);
  if (op == 2) return fit(a * b);
  if (op == 6) return fit(std::min(a, b));
  if (op == 7) return fit(std::max(a, b));
  if (b == 0 || !fit(a / b)) return std::nullopt;
  if (op == 3) return fit(a / b);
  if (op == 4) return fit(a % b);
  bool up = a % b != 0 && (a < 0) == (b < 0);
  return fit(a / b + (up ? 1 : 0));
}

template <class Random>
Sample sample(Random& below, int depth) {
  if (depth == 0 || below(4) == 0) {
    switch (below(4)) {
      case 0:
        return {"N", 1000};
      case 1:
        return {"big", INT64_MAX};
      default: {
        auto n = static_cast<std::int64_t>(below(20));
        return {std::to_string(n), n};
      }
    }
  }
  Sample a = sample(below, depth - 1);
  if (below(6) == 0) return {fmt::format("-({})", a.text), combine(1, 0, a.value)};
  Sample b = sample(below, depth - 1);
  constexpr const char* kForms[] = {"({}) + ({})",  "({})-({})",   "({}) * ({})",
                                    "({}) / ({})",  "({})%({})",   "ceil_div({}, {})",
                                    "min({} , {})", "max( {},{} )"};
  std::size_t op = below(8);
  return {fmt::format(fmt::runtime(kForms[op]), a.text, b.text), combine(op, a.value, b.value)};
}

TEST(Expression, AgreesWithWideArithmetic) {
  std::uint64_t state = 1;
  auto below = [&](std::uint64_t n) {  // xorshift: the same samples on every run
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return static_cast<std::size_t>(state % n);
  };
  int good = 0;
  int bad = 0;
  for (int i = 0; i < 20'000; ++i) {
    Sample s = sample(below, 4);
    if (s.text.size() > 2000) continue;
    auto result = evaluate(s.text, kSizes);
    ASSERT_EQ(result.has_value(), s.value.has_value()) << s.text;
    if (result) {
      ASSERT_EQ(*result, *s.value) << s.text;
      ++good;
    } else {
      ++bad;
    }
  }
  EXPECT_GT(good, 2000);  // both kinds were really met
  EXPECT_GT(bad, 2000);
}

TEST(Expression, GarbageNeverCrashes) {
  std::uint64_t state = 7;
  const std::string alphabet = "N B19+-*/%(),ceil_divminmax \t.\x80";
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (int j = 0; j < 12; ++j) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      text += alphabet[(state >> 33) % alphabet.size()];
    }
    auto result = evaluate(text, kSizes);
    ASSERT_TRUE(result || contains(result.error().message, "column")) << text;
  }
}

}  // namespace
}  // namespace kp
