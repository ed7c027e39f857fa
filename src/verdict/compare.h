#pragma once
// Compares one output leaf with its fp64 truth on the host (native tasks). The rule, its numbers
// and its words are those of assets/oracle/tolerances.py and compare.py; tests/data/
// compare_cases.json keeps the two alike.
//
// A leaf passes when
//   1. every element lies within  atol * scale + rtol * |truth|,  scale = RMS of the truth, and
//   2. rel_l2  <= k_l2  * max(eager's rel_l2,  floor)  and
//      max_abs <= k_max * max(eager's max_abs, floor * max |truth|).
// With a user's tolerance only  |out - truth| <= atol + rtol * |truth|  counts. Integers and
// booleans must be equal; NaN and infinities must stand in the same places.
#include <optional>
#include <span>

#include "task/task.h"
#include "verdict/verdict.h"

namespace kp {

struct ComparisonRule {
  Tolerance strict{1e-4, 1e-4}, tf32{1e-2, 1e-2}, half{2e-2, 2e-2};
  double k_l2 = 4;
  double k_max = 8;
};

// `truth` and `out`: the tensor's storage (strides and gaps included), as doubles. `out` has been
// rounded to the tensor's type. Quantiles of large leaves are those of a sample. `eager_*`: the
// reference's own error at the task's precision.
LeafError compare_leaf(const TensorSpec& spec, std::span<const double> truth,
                       std::span<const double> out, double eager_max_abs, double eager_rel_l2,
                       Precision precision, const std::optional<Tolerance>& user,
                       const ComparisonRule& rule = {});

// What a comparison needs to know of a truth besides its values; made once.
struct TruthSize {
  double squares = 0;  // sum over the finite values
  double largest = 0;  // |truth|, finite
  double count = 0;    // elements
  double scale() const;
};
TruthSize size_of_truth(const TensorSpec& spec, std::span<const double> truth);

// The same verdict from sums that were made elsewhere (on the device), for the leaf whose elements
// are all finite and within the absolute tolerance; nullopt for any other, which compare_leaf must
// look at. A NaN in `max_abs` means an element that is not finite.
std::optional<LeafError> leaf_from_sums(const TensorSpec& spec, const TruthSize& size,
                                        double error_squares, double max_abs, double eager_max_abs,
                                        double eager_rel_l2, Precision precision,
                                        const std::optional<Tolerance>& user,
                                        const ComparisonRule& rule = {});

// The unit in the last place at 1; 0 for exact types.
double epsilon_of(DType type);
// Relative error that always passes rule 2.
double error_floor_of(DType type);

}  // namespace kp
