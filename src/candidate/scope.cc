#include "candidate/scope.h"

#include <fmt/format.h>

#include <cmath>

#include "base/text.h"
#include "task/check.h"

namespace kp {

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  std::string near = nearest(word, known);
  return near.empty() ? "" : fmt::format(" (did you mean \"{}\"?)", near);
}

std::vector<std::string> Scope::storage_names() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : storage) names.push_back(name);
  return names;
}

Result<const Storage*> Scope::find(const std::string& name, const std::string& where) const {
  if (auto it = storage.find(name); it != storage.end()) return &it->second;
  auto names = storage_names();
  return fail(
      fmt::format("{}: no tensor or buffer \"{}\"{}", where, name, did_you_mean(name, names)),
      "known: " + join(names, ", "));
}

Result<std::int64_t> Scope::number(const Expr& expr, std::int64_t low, std::int64_t high,
                                   const std::string& where) const {
  auto value = evaluate(expr, sizes);
  if (!value) {
    auto scalar = scalars.find(std::string(trim(expr)));
    if (scalar != scalars.end())
      return fail(fmt::format("{}: scalar {} is {}, not a whole number", where, scalar->first,
                              scalar->second));
    return fail(where + ": " + value.error().message, value.error().hint);
  }
  if (*value < low || *value > high) {
    std::string is = expr == std::to_string(*value) ? expr : fmt::format("{} = {}", expr, *value);
    return fail(fmt::format("{}: {} is outside {} to {}", where, is, low, high));
  }
  return value;
}

Scope scope_of(const Task& task, bool promote_real) {
  Scope scope;
  scope.sizes = task.sizes;
  {
    Task sized;  // every task has the sizes of its tensors, whoever made it
    sized.tensors = task.tensors;
    add_tensor_sizes(sized);
    scope.sizes.insert(sized.sizes.begin(), sized.sizes.end());
  }
  for (const auto& scalar : task.scalars) {
    scope.scalars[scalar.name] = scalar.value;
    constexpr double kExact = 9007199254740992.0;  // 2^53: beyond it doubles skip integers
    if (std::trunc(scalar.value) == scalar.value && std::abs(scalar.value) <= kExact)
      scope.sizes[scalar.name] = static_cast<std::int64_t>(scalar.value);
    else
      scope.sizes.erase(scalar.name);
  }
  for (const auto& tensor : task.tensors) {
    TensorSpec as_run = tensor;
    if (promote_real && is_floating(tensor.dtype)) as_run.dtype = DType::f64;
    if (is_floating(tensor.dtype) && task.kind == TaskKind::native) scope.real = tensor.dtype;
    scope.storage[tensor.name] = {as_run.dtype, as_run.shape, as_run.strides,
                                  as_run.storage_bytes(), tensor.role};
  }
  if (promote_real) scope.real = DType::f64;
  return scope;
}

}  // namespace kp
