#include "task/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "base/text.h"

namespace kp {

namespace {

using Int = std::int64_t;
constexpr int kMaxDepth = 100;  // nested parentheses, calls and signs: bounds the recursion

bool starts_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// sum := product (('+' | '-') product)*
// product := factor (('*' | '/' | '%') factor)*
// factor := ('-' | '+') factor | number | name | function '(' sum (',' sum)* ')' | '(' sum ')'
class Evaluator {
 public:
  Evaluator(std::string_view text, const Sizes& sizes) : text_(text), sizes_(sizes) {}

  Result<Int> run() {
    KP_ASSIGN(Int value, sum());
    peek();
    if (at_ < text_.size()) return syntax_error();
    return value;
  }

 private:
  Result<Int> sum() {
    KP_ASSIGN(Int value, product());
    while (peek() == '+' || peek() == '-') {
      char op = text_[at_++];
      KP_ASSIGN(Int right, product());
      KP_ASSIGN(value, apply(op, value, right));
    }
    return value;
  }

  Result<Int> product() {
    KP_ASSIGN(Int value, factor());
    while (peek() == '*' || peek() == '/' || peek() == '%') {
      char op = text_[at_++];
      KP_ASSIGN(Int right, factor());
      KP_ASSIGN(value, apply(op, value, right));
    }
    return value;
  }

  Result<Int> factor() {
    if (depth_ >= kMaxDepth) return error(fmt::format("nested deeper than {} levels", kMaxDepth));
    ++depth_;
    Result<Int> value = factor_inside();
    --depth_;
    return value;
  }

  Result<Int> factor_inside() {
    char c = peek();
    if (c == '-' || c == '+') {
      ++at_;
      KP_ASSIGN(Int value, factor());
      return c == '-' ? apply('-', 0, value) : Result<Int>(value);
    }
    if (c == '(') {
      ++at_;
      KP_ASSIGN(Int value, sum());
      KP_TRY(expect(')'));
      return value;
    }
    if (is_digit(c)) return number();
    if (starts_name(c)) return name_or_call();
    return syntax_error();
  }

  Result<Int> number() {
    Int value = 0;
    while (at_ < text_.size() && is_digit(text_[at_])) {
      if (__builtin_mul_overflow(value, Int{10}, &value) ||
          __builtin_add_overflow(value, Int{text_[at_] - '0'}, &value))
        return error("number does not fit 64 bits");
      ++at_;
    }
    if (at_ < text_.size() && (text_[at_] == '.' || starts_name(text_[at_])))
      return error("only whole decimal numbers are allowed here");
    return value;
  }

  Result<Int> name_or_call() {
    std::size_t from = at_;
    while (at_ < text_.size() && (starts_name(text_[at_]) || is_digit(text_[at_]))) ++at_;
    std::string name(text_.substr(from, at_ - from));
    if (peek() == '(') return call(name, from);
    if (auto it = sizes_.find(name); it != sizes_.end()) return it->second;
    return unknown(name, from);
  }

  Result<Int> call(const std::string& name, std::size_t from) {
    if (name != "ceil_div" && name != "min" && name != "max") return unknown(name, from);
    std::vector<Int> values;
    do {
      ++at_;  // '(' or ','
      KP_ASSIGN(Int value, sum());
      values.push_back(value);
    } while (peek() == ',');
    KP_TRY(expect(')'));
    if (values.size() < 2 || (name == "ceil_div" && values.size() != 2)) {
      at_ = from;
      return error(fmt::format("{} takes {} values, not {}", name,
                               name == "ceil_div" ? "two" : "two or more", values.size()));
    }
    if (name == "min") return *std::min_element(values.begin(), values.end());
    if (name == "max") return *std::max_element(values.begin(), values.end());
    KP_ASSIGN(Int quotient, apply('/', values[0], values[1]));
    bool inexact = values[0] % values[1] != 0;
    return quotient + (inexact && (values[0] < 0) == (values[1] < 0) ? 1 : 0);
  }

  Result<Int> apply(char op, Int a, Int b) {
    if ((op == '/' || op == '%') && b == 0) return error("division by zero");
    Int value = 0;
    bool overflow = false;
    if (op == '+') overflow = __builtin_add_overflow(a, b, &value);
    if (op == '-') overflow = __builtin_sub_overflow(a, b, &value);
    if (op == '*') overflow = __builtin_mul_overflow(a, b, &value);
    if (op == '/' || op == '%') {
      overflow = a == std::numeric_limits<Int>::min() && b == -1;
      if (!overflow) value = op == '/' ? a / b : a % b;
    }
    if (overflow) return error(fmt::format("{} {} {} does not fit 64 bits", a, op, b));
    return value;
  }

  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n'))
      ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  Status expect(char c) {
    if (peek() != c) return syntax_error(fmt::format("expected '{}'", c));
    ++at_;
    return {};
  }

  tl::unexpected<Error> unknown(const std::string& name, std::size_t from) {
    std::vector<std::string> known{"ceil_div", "min", "max"};
    for (const auto& [size, value] : sizes_) known.push_back(size);
    std::string near = nearest(name, known);
    at_ = from;
    return error(fmt::format("unknown name \"{}\"{}", name,
                             near.empty() ? "" : fmt::format(" (did you mean \"{}\"?)", near)));
  }

  tl::unexpected<Error> syntax_error(const std::string& why = "expected a number, name or '('") {
    peek();
    if (at_ >= text_.size()) return error(why + ", but the expression ends");
    return error(fmt::format("unexpected '{}'", text_[at_]));
  }

  tl::unexpected<Error> error(const std::string& what) {
    return fail(fmt::format("\"{}\": {} (column {})", text_, what, at_ + 1),
                "an expression holds sizes, whole numbers, + - * / % ( ), ceil_div, min and max");
  }

  std::string_view text_;
  const Sizes& sizes_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Result<std::int64_t> evaluate(std::string_view expression, const Sizes& sizes) {
  if (expression.size() > 2000)
    return fail(fmt::format("an expression of {} characters (at most 2000)", expression.size()));
  return Evaluator(expression, sizes).run();
}

}  // namespace kp
