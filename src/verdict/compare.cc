#include "verdict/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/parallel.h"
#include "base/rng.h"

namespace kp {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

double largest_of(DType type) {
  switch (type) {
    case DType::f16:
      return 65504.0;
    case DType::bf16:
      return 3.3895313892515355e38;
    case DType::f32:
    case DType::c64:
      return 3.4028234663852886e38;
    case DType::f8e4m3:
      return 448.0;
    case DType::f8e5m2:
      return 57344.0;
    default:
      return kInf;
  }
}

std::vector<std::int64_t> index_at(const TensorSpec& spec, std::size_t position) {
  std::vector<std::int64_t> index(spec.shape.size());
  auto rest = static_cast<std::int64_t>(position);
  for (std::size_t d = index.size(); d-- > 0;) {
    index[d] = rest % spec.shape[d];
    rest /= spec.shape[d];
  }
  return index;
}

// Calls visit(place in the storage, position) for the elements at [from, to) in row-major order.
template <class Visit>
void for_range(const TensorSpec& spec, std::size_t from, std::size_t to, const Visit& visit) {
  if (spec.shape.empty()) {
    if (from < to) visit(std::size_t{0}, from);
    return;
  }
  const std::size_t last = spec.shape.size() - 1;
  const std::int64_t step = spec.strides[last];
  std::vector<std::int64_t> index = from < to ? index_at(spec, from) : std::vector<std::int64_t>{};
  while (from < to) {
    std::int64_t place = 0;
    for (std::size_t d = 0; d <= last; ++d) place += index[d] * spec.strides[d];
    auto in_row = static_cast<std::size_t>(spec.shape[last] - index[last]);
    std::size_t end = std::min(to, from + in_row);
    for (; from < end; ++from, place += step) visit(static_cast<std::size_t>(place), from);
    index[last] = 0;
    for (std::size_t d = last; d > 0 && ++index[d - 1] == spec.shape[d - 1]; --d) index[d - 1] = 0;
  }
}

double relative(double error_squares, double truth_squares) {
  if (truth_squares > 0) return std::sqrt(error_squares / truth_squares);
  return error_squares > 0 ? kInf : 0;
}

double error_of(double t, double o) {
  if (std::isfinite(t) && std::isfinite(o)) return std::abs(o - t);
  return t == o || (std::isnan(t) && std::isnan(o)) ? 0 : kInf;
}

// What a range of elements adds up to.
struct Difference {
  double squares = 0;
  double max_abs = 0;
  double outside = 0;       // elements beyond the tolerance
  double worst_excess = 0;  // of the element that is furthest beyond it; the first of equals
  std::size_t worst = 0;    // its position
  double expected = 0, actual = 0, allowed = 0;

  void add(double t, double o, const Tolerance& tolerance, std::size_t position) {
    double error = error_of(t, o);
    squares += error * error;
    max_abs = std::max(max_abs, error);
    double bound = tolerance.atol + (std::isfinite(t) ? tolerance.rtol * std::abs(t) : 0);
    if (!(error > bound)) return;
    outside += 1;
    if (!(error - bound > worst_excess)) return;
    worst_excess = error - bound;
    worst = position;
    expected = t;
    actual = o;
    allowed = bound;
  }

  void add(const Difference& later) {
    double all_squares = squares + later.squares;
    double all_max = std::max(max_abs, later.max_abs);
    double all_outside = outside + later.outside;
    if (later.worst_excess > worst_excess) *this = later;
    squares = all_squares;
    max_abs = all_max;
    outside = all_outside;
  }
};

Tolerance tolerance_for(const TensorSpec& spec, double scale, double eager_max_abs,
                        Precision precision, const std::optional<Tolerance>& user,
                        const ComparisonRule& rule) {
  if (epsilon_of(spec.dtype) == 0) return {};
  if (user) return *user;
  Tolerance t = precision == Precision::strict ? rule.strict
                : precision == Precision::tf32 ? rule.tf32
                                               : rule.half;
  double epsilon = epsilon_of(spec.dtype);
  t.atol = std::max(t.atol, epsilon) * scale;
  t.rtol = std::max(t.rtol, epsilon);
  // Where the reference itself errs by more than the tolerance, rule 2 alone decides.
  if (std::isfinite(eager_max_abs)) t.atol = std::max(t.atol, rule.k_max * eager_max_abs);
  return t;
}

std::string beyond_eager(const TensorSpec& spec, const LeafError& leaf, double largest,
                         const ComparisonRule& rule) {
  double floor = error_floor_of(spec.dtype);
  double l2 = rule.k_l2 * std::max(leaf.eager_rel_l2, floor);
  if (leaf.rel_l2 > l2)
    return fmt::format(
        "{}: relative L2 error {:.6g} is above {:.6g}, {:.6g} times what the reference's own "
        "arithmetic errs",
        spec.name, leaf.rel_l2, l2, rule.k_l2);
  double most = rule.k_max * std::max(leaf.eager_max_abs, floor * largest);
  if (leaf.max_abs > most)
    return fmt::format(
        "{}: max error {:.6g} is above {:.6g}, {:.6g} times what the reference's own arithmetic "
        "errs",
        spec.name, leaf.max_abs, most, rule.k_max);
  return "";
}

// The places of a sample are drawn once for all, so that a leaf's quantiles are repeatable.
Quantiles quantiles_of(const TensorSpec& spec, std::span<const double> truth,
                       std::span<const double> out, double limit, double largest) {
  const auto n = static_cast<std::uint64_t>(spec.elements());
  Quantiles found;
  found.max = largest;
  if (n == 0) return found;
  constexpr std::uint64_t kSample = 1 << 18;
  std::vector<double> errors;
  auto take = [&](std::size_t place, std::size_t) {
    double t = truth[place];
    if (std::abs(t) > limit) t = std::copysign(kInf, t);
    errors.push_back(error_of(t, out[place]));
  };
  errors.reserve(static_cast<std::size_t>(std::min(n, kSample)));
  Rng rng(1);
  if (n <= kSample) {
    for_range(spec, 0, static_cast<std::size_t>(n), take);
  } else {
    for (std::uint64_t i = 0; i < kSample; ++i) {
      auto at = static_cast<std::size_t>(rng.below(n));
      for_range(spec, at, at + 1, take);
    }
  }
  auto quantile = [&](double share) {
    auto rank = static_cast<std::size_t>(share * static_cast<double>(errors.size() - 1) + 0.5);
    auto nth = errors.begin() + static_cast<std::ptrdiff_t>(rank);
    std::nth_element(errors.begin(), nth, errors.end());
    return *nth;
  };
  found.p50 = quantile(0.5);
  found.p90 = quantile(0.9);
  found.p99 = quantile(0.99);
  return found;
}

}  // namespace

double epsilon_of(DType type) {
  switch (type) {
    case DType::f64:
    case DType::c128:
      return 0x1p-52;
    case DType::f32:
    case DType::c64:
      return 0x1p-23;
    case DType::f16:
      return 0x1p-10;
    case DType::bf16:
      return 0x1p-7;
    case DType::f8e4m3:
      return 0x1p-3;
    case DType::f8e5m2:
      return 0x1p-2;
    default:
      return 0;
  }
}

// Four ulps of f32 are enough for another order of summation; 16 bits and less already round by
// more. f64 has no better truth to compare with.
double error_floor_of(DType type) {
  if (type == DType::f64 || type == DType::c128) return 1e-12;
  if (type == DType::f32 || type == DType::c64) return 4 * 0x1p-23;
  return epsilon_of(type);
}

double TruthSize::scale() const {
  if (squares > 0) return std::sqrt(squares / count);
  return largest > 0 ? largest : 1;
}

TruthSize size_of_truth(const TensorSpec& spec, std::span<const double> truth) {
  std::array<TruthSize, kParallelParts> parts;
  parallel(static_cast<std::size_t>(spec.elements()),
           [&](std::size_t part, std::size_t from, std::size_t to) {
             TruthSize size;
             for_range(spec, from, to, [&](std::size_t place, std::size_t) {
               double t = truth[place];
               if (!std::isfinite(t)) return;
               size.squares += t * t;
               size.largest = std::max(size.largest, std::abs(t));
             });
             parts[part] = size;
           });
  TruthSize whole;
  whole.count = static_cast<double>(spec.elements());
  for (const TruthSize& part : parts) {
    whole.squares += part.squares;
    whole.largest = std::max(whole.largest, part.largest);
  }
  return whole;
}

std::optional<LeafError> leaf_from_sums(const TensorSpec& spec, const TruthSize& size,
                                        double error_squares, double max_abs, double eager_max_abs,
                                        double eager_rel_l2, Precision precision,
                                        const std::optional<Tolerance>& user,
                                        const ComparisonRule& rule) {
  Tolerance tolerance = tolerance_for(spec, size.scale(), eager_max_abs, precision, user, rule);
  if (!std::isfinite(error_squares) || !(max_abs <= tolerance.atol)) return std::nullopt;
  LeafError leaf;
  leaf.tensor = spec.name;
  leaf.eager_max_abs = eager_max_abs;
  leaf.eager_rel_l2 = eager_rel_l2;
  leaf.max_abs = max_abs;
  leaf.rel_l2 = relative(error_squares, size.squares);
  if (!user) leaf.reason = beyond_eager(spec, leaf, size.largest, rule);
  leaf.ok = leaf.reason.empty();
  return leaf;
}

LeafError compare_leaf(const TensorSpec& spec, std::span<const double> truth,
                       std::span<const double> out, double eager_max_abs, double eager_rel_l2,
                       Precision precision, const std::optional<Tolerance>& user,
                       const ComparisonRule& rule) {
  KP_CHECK(truth.size() == out.size());
  const bool exact = epsilon_of(spec.dtype) == 0;
  const TruthSize size = size_of_truth(spec, truth);
  const double limit = largest_of(spec.dtype);
  const Tolerance tolerance =
      tolerance_for(spec, size.scale(), eager_max_abs, precision, user, rule);
  LeafError leaf;
  leaf.tensor = spec.name;
  leaf.eager_max_abs = eager_max_abs;
  leaf.eager_rel_l2 = eager_rel_l2;
  std::array<Difference, kParallelParts> parts;
  parallel(static_cast<std::size_t>(spec.elements()),
           [&](std::size_t part, std::size_t from, std::size_t to) {
             Difference sum;
             for_range(spec, from, to, [&](std::size_t place, std::size_t position) {
               double t = truth[place];
               if (std::abs(t) > limit) t = std::copysign(kInf, t);
               sum.add(t, out[place], tolerance, position);
             });
             parts[part] = sum;
           });
  Difference whole;
  for (const Difference& part : parts) whole.add(part);
  const double outside = whole.outside;
  leaf.max_abs = whole.max_abs;
  if (whole.worst_excess > 0) {
    leaf.worst_index = index_at(spec, whole.worst);
    leaf.expected = whole.expected;
    leaf.actual = whole.actual;
  }
  leaf.outside = size.count > 0 ? outside / size.count : 0;
  leaf.rel_l2 = exact ? leaf.outside : relative(whole.squares, size.squares);
  if (outside > 0) {
    std::string index =
        leaf.worst_index.empty() ? "" : fmt::format("[{}]", fmt::join(leaf.worst_index, ","));
    leaf.reason = fmt::format(
        "{}{}: expected {:.6g}, got {:.6g} (max error {:.6g}, tolerance {:.6g}); {:.4g} % of the "
        "elements are outside",
        spec.name, index, leaf.expected, leaf.actual, leaf.max_abs, whole.allowed,
        100 * leaf.outside);
  } else if (!exact && !user) {
    leaf.reason = beyond_eager(spec, leaf, size.largest, rule);
  }
  leaf.ok = leaf.reason.empty();
  leaf.quantiles = quantiles_of(spec, truth, out, limit, leaf.max_abs);
  return leaf;
}

}  // namespace kp
