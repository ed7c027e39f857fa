#pragma once
// Integer expressions of plans and native tasks over named sizes: + - * / % ( ), ceil_div, min,
// max. Division truncates and refuses zero; overflow of 64 bits is an Error.
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
