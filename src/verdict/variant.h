#pragma once
// How the inputs of a seed are made of what the task draws. A kernel that is right for the task's
// own numbers alone (a ReLU of positive numbers that copies them, say) shows on the others.
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "task/task.h"

namespace kp {

// signs: each floating value x becomes x or -x, by a hash of its magnitude, so that equal values
// stay equal, zeros stay zero and symmetric tensors stay symmetric. scaled: floating values times 4
// or 1/4. Other types stay as they are drawn.
enum class Variant { own, signs, scaled };
std::string_view name_of(Variant variant);  // "own", "signed", "scaled"
Result<Variant> parse_variant(std::string_view name);

void vary(std::vector<double>& values, DType type, Variant variant, std::uint64_t seed);

// Whether the reference is as good on a variant as on the task's own numbers: as finite, and not
// far less exact. `*_rel_l2`: the reference's own error; `*_finite`: whether its truth is.
bool bears_variant(DType type, bool own_finite, double own_rel_l2, bool finite, double rel_l2);

}  // namespace kp
