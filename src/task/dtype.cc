#include "task/dtype.h"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "base/text.h"

namespace kp {

namespace {

struct Row {
  DType type;
  std::string_view name;
  std::string_view cuda;
  std::size_t size;
  bool floating;
};

constexpr std::array<Row, 14> kRows{{
    {DType::f64, "f64", "double", 8, true},
    {DType::f32, "f32", "float", 4, true},
    {DType::f16, "f16", "__half", 2, true},
    {DType::bf16, "bf16", "__nv_bfloat16", 2, true},
    {DType::f8e4m3, "f8e4m3", "__nv_fp8_e4m3", 1, true},
    {DType::f8e5m2, "f8e5m2", "__nv_fp8_e5m2", 1, true},
    {DType::i64, "i64", "long long", 8, false},
    {DType::i32, "i32", "int", 4, false},
    {DType::i16, "i16", "short", 2, false},
    {DType::i8, "i8", "signed char", 1, false},
    {DType::u8, "u8", "unsigned char", 1, false},
    {DType::b8, "b8", "bool", 1, false},
    {DType::c64, "c64", "float2", 8, false},
    {DType::c128, "c128", "double2", 16, false},
}};

const Row& row_of(DType type) {
  for (const Row& row : kRows) {
    if (row.type == type) return row;
  }
  KP_CHECK(!"every element type has a row");
}

}  // namespace

std::size_t size_of(DType type) {
  return row_of(type).size;
}
std::string_view name_of(DType type) {
  return row_of(type).name;
}
std::string_view cuda_name(DType type) {
  return row_of(type).cuda;
}
bool is_floating(DType type) {
  return row_of(type).floating;
}

Result<DType> parse_dtype(std::string_view name) {
  std::vector<std::string> known;
  for (const Row& row : kRows) {
    if (row.name == name) return row.type;
    known.emplace_back(row.name);
  }
  return fail(fmt::format("unknown element type \"{}\"", name),
              fmt::format("known types: {}", join(known, ", ")));
}

}  // namespace kp
