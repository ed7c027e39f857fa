#pragma once
// Element types of tensors, by the names that plans and prompts use.
#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kp {

enum class DType { f64, f32, f16, bf16, f8e4m3, f8e5m2, i64, i32, i16, i8, u8, b8, c64, c128 };

std::size_t size_of(DType type);                   // bytes of one element
std::string_view name_of(DType type);              // "f32"
std::string_view cuda_name(DType type);            // "float", "__nv_bfloat16", as kernels write it
Result<DType> parse_dtype(std::string_view name);  // Error lists the known names
bool is_floating(DType type);

}  // namespace kp
