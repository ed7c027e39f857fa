#include "verdict/variant.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>

#include "base/parallel.h"
#include "base/rng.h"
#include "verdict/compare.h"

namespace kp {

namespace {

constexpr double kScale = 4;
constexpr double kFarLessExact = 32;  // assets/oracle/variants.py has the same

struct Row {
  Variant variant;
  std::string_view name;
};
constexpr std::array<Row, 3> kVariants = {
    {{Variant::own, "own"}, {Variant::signs, "signed"}, {Variant::scaled, "scaled"}}};

}  // namespace

std::string_view name_of(Variant variant) {
  for (const auto& row : kVariants)
    if (row.variant == variant) return row.name;
  KP_CHECK(!"variant has a name");
}

Result<Variant> parse_variant(std::string_view name) {
  for (const auto& row : kVariants)
    if (row.name == name) return row.variant;
  return fail(fmt::format("unknown variant \"{}\"", name), "known: own, signed, scaled");
}

void vary(std::vector<double>& values, DType type, Variant variant, std::uint64_t seed) {
  if (variant == Variant::own || !is_floating(type)) return;
  const std::uint64_t salt = mix64(seed);
  const double factor = (salt & 1) != 0 ? kScale : 1 / kScale;
  parallel(values.size(), [&](std::size_t, std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
      double& v = values[i];
      if (variant == Variant::scaled) {
        v *= factor;
      } else if (v != 0 && (mix64(std::bit_cast<std::uint64_t>(std::abs(v)) ^ salt) & 1) != 0) {
        v = -v;
      }
    }
  });
}

bool bears_variant(DType type, bool own_finite, double own_rel_l2, bool finite, double rel_l2) {
  if (own_finite && !finite) return false;
  if (!is_floating(type) || !std::isfinite(own_rel_l2)) return true;
  return rel_l2 <= kFarLessExact * std::max(own_rel_l2, error_floor_of(type));
}

}  // namespace kp
