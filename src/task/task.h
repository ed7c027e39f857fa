#pragma once
// Task: what must be computed, on which tensors, how precisely. Made from a KernelBench-format .py
// (by the oracle process, which loads PyTorch) or from a native .toml.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "task/dtype.h"

namespace kp {

enum class Role {
  input,      // argument of forward(), drawn anew for every seed
  parameter,  // parameter or buffer of the module: the same values at every seed
  output,     // leaf of what forward() returns, written by the candidate
};

// How a native task's tensor is filled.
struct ValueRange {
  enum class Kind { uniform, normal, constant } kind = Kind::uniform;
  double low = 0;   // uniform: [low, high); normal: mean; constant: the value
  double high = 1;  // normal: standard deviation
};

struct TensorSpec {
  std::string name;  // a C identifier, unique in the task
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  // in elements; kept as the reference has them
  Role role = Role::input;
  std::string origin;  // "forward(x)", "fc.weight", "output[0]"
  ValueRange values;   // native inputs only

  std::int64_t elements() const;       // product of the shape
  std::int64_t storage_bytes() const;  // smallest allocation that the strides need
  bool contiguous() const;
};

// A number that the reference uses and a kernel may take as an argument: a non-tensor argument of
// forward(), or a numeric attribute of the module ("leaky_relu.negative_slope").
struct ScalarSpec {
  std::string name;  // a C identifier
  std::string origin;
  bool is_integer = false;
  double value = 0;
};

enum class TaskKind { kernelbench, native };

// Which arithmetic the candidate may use: decides what its error is compared with (design.md,
// Decision 3). strict: as exact as eager in the tensors' own types; tf32: as eager with TF32 on;
// half: as eager in bf16.
enum class Precision { strict, tf32, half };
std::string_view name_of(Precision precision);
Result<Precision> parse_precision(std::string_view name);

struct Tolerance {
  double atol = 0;
  double rtol = 0;
};

// What any kernel for this task must at least do: from the tensors and the reference's own graph,
// never from a candidate.
struct Work {
  double bytes = 0;         // each input and parameter read once, each output written once
  double matmul_flops = 0;  // multiply-adds of matrix products and convolutions, times two
  double other_flops = 0;   // everything else, one an element and operator; 0 when unknown
};

struct Task {
  std::string name;  // file name without its ending
  std::string path;
  TaskKind kind = TaskKind::kernelbench;
  std::string reference_source;  // text of the .py, or of the native .cu
  std::vector<TensorSpec> tensors;
  std::vector<ScalarSpec> scalars;
  std::map<std::string, std::int64_t> sizes;  // names that plan expressions may use
  Precision precision = Precision::strict;
  std::optional<Tolerance> tolerance;  // given by the user (--atol/--rtol) or the .toml
  Work work;
  std::vector<std::string> operators;  // "aten::relu", ...: what the reference calls, for memory
  std::vector<std::string> notes;      // what was repaired or is worth knowing, in words

  const TensorSpec* find_tensor(std::string_view tensor_name) const;
};

// Field names are the structs' own; "values" is {"kind", "low", "high"}; "tolerance" is null or
// {"atol", "rtol"}; numbers that are not finite are "inf", "-inf", "nan". Errors name the place.
Json to_json(const Task& task);
Result<Task> task_from_json(const Json& json);  // the oracle's `describe` answer has this form

// Named sizes that every task has besides its own: for tensor x of shape (4, 5): x_d0 = 4, x_d1 =
// 5, x_numel = 20. Names that the task already defines are kept.
void add_tensor_sizes(Task& task);

}  // namespace kp
