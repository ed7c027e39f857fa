#pragma once
// Integer expressions of plans and native tasks over named sizes: + - * / % ( ), ceil_div(a, b),
// min and max of two or more. Division truncates, ceil_div rounds up; zero divisors and overflow of
// 64 bits are Errors.
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kp {

using Sizes = std::map<std::string, std::int64_t>;

// Error names the unknown name (with the nearest known one) or the column of a syntax error.
Result<std::int64_t> evaluate(std::string_view expression, const Sizes& sizes);

}  // namespace kp
