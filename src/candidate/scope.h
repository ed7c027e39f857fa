#pragma once
// What the names of a plan mean while it is resolved: tensors and buffers with their storage,
// sizes and scalars. Used inside candidate/ only.
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "candidate/plan.h"
#include "candidate/resolve.h"
#include "task/expression.h"
#include "task/task.h"

namespace kp {

struct Storage {
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  // in elements
  std::int64_t bytes = 0;
  std::optional<Role> role;  // nothing: a buffer of the plan
};

struct Scope {
  std::map<std::string, Storage> storage;          // tensors and buffers
  std::map<std::string, std::string> tensor_maps;  // tensor map → its tensor or buffer
  std::map<std::string, double> scalars;
  Sizes sizes;              // with the task's integral scalars and the indices of repeats
  DType real = DType::f32;  // what "real:" means

  std::vector<std::string> storage_names() const;
  // The storage of that name, or an Error with the nearest name.
  Result<const Storage*> find(const std::string& name, const std::string& where) const;
  // evaluate() with `where` in front, refused outside [low, high].
  Result<std::int64_t> number(const Expr& expr, std::int64_t low, std::int64_t high,
                              const std::string& where) const;
};

// Tensors, scalars and sizes of the task; promote as in resolve().
Scope scope_of(const Task& task, bool promote_real);

// "i32:EXPR", "f32:eps", ...: the bytes that the kernel's parameter gets.
Result<ValueArg> resolve_value(const std::string& text, const Scope& scope,
                               const std::string& where);

// " (did you mean "x"?)", or nothing.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

// A tensor map in numbers, checked against what cuTensorMapEncodeTiled accepts and against the
// storage of its tensor.
Result<ResolvedTensorMap> resolve_tensor_map(const PlanTensorMap& map, const Scope& scope);

}  // namespace kp
