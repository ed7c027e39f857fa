// Task ↔ JSON: the form of the oracle's first answer (docs/protocols.md). Field names are the
// struct's own. Not-finite numbers are the strings "inf", "-inf" and "nan", which JSON lacks.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <set>

#include "task/check.h"
#include "task/task.h"

namespace kp {

namespace {

Json number_to_json(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

Result<double> number_from_json(const Json& object, const char* key, const std::string& where) {
  std::string text = string_or(object, key, "");
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  return get_double(object, key, where);
}

std::string_view name_of(Role role) {
  return role == Role::input ? "input" : role == Role::parameter ? "parameter" : "output";
}

std::string_view name_of(ValueRange::Kind kind) {
  switch (kind) {
    case ValueRange::Kind::uniform:
      return "uniform";
    case ValueRange::Kind::normal:
      return "normal";
    case ValueRange::Kind::constant:
      return "constant";
  }
  KP_CHECK(!"every kind of values has a name");
}

Json to_json(const TensorSpec& tensor) {
  return {{"name", tensor.name},
          {"dtype", kp::name_of(tensor.dtype)},
          {"shape", tensor.shape},
          {"strides", tensor.strides},
          {"role", name_of(tensor.role)},
          {"origin", tensor.origin},
          {"values",
           {{"kind", name_of(tensor.values.kind)},
            {"low", number_to_json(tensor.values.low)},
            {"high", number_to_json(tensor.values.high)}}}};
}

Result<ValueRange> values_from_json(const Json& json, const std::string& where) {
  ValueRange values;
  KP_ASSIGN(std::string kind, get_string(json, "kind", where));
  bool known = false;
  for (auto k : {ValueRange::Kind::uniform, ValueRange::Kind::normal, ValueRange::Kind::constant}) {
    if (kind != name_of(k)) continue;
    values.kind = k;
    known = true;
  }
  if (!known) return fail(fmt::format("{}: unknown kind \"{}\"", where, kind));
  KP_ASSIGN(values.low, number_from_json(json, "low", where));
  KP_ASSIGN(values.high, number_from_json(json, "high", where));
  return values;
}

Result<TensorSpec> tensor_from_json(const Json& json, const std::string& where) {
  TensorSpec tensor;
  KP_ASSIGN(tensor.name, get_string(json, "name", where));
  std::string here = fmt::format("{} ({})", where, tensor.name);
  KP_ASSIGN(std::string dtype, get_string(json, "dtype", here));
  KP_ASSIGN(tensor.dtype, parse_dtype(dtype));
  KP_ASSIGN(tensor.shape, get_ints(json, "shape", here));
  KP_ASSIGN(tensor.strides, get_ints(json, "strides", here));
  KP_ASSIGN(std::string role, get_string(json, "role", here));
  bool known = false;
  for (Role r : {Role::input, Role::parameter, Role::output}) {
    if (role != name_of(r)) continue;
    tensor.role = r;
    known = true;
  }
  if (!known)
    return fail(fmt::format("{}: unknown role \"{}\"", here, role),
                "allowed: input, parameter, output");
  tensor.origin = string_or(json, "origin", "");
  if (auto it = json.find("values"); it != json.end() && !it->is_null()) {
    KP_ASSIGN(tensor.values, values_from_json(*it, here + ", values"));
  }
  KP_TRY(check_tensor(tensor, here));
  return tensor;
}

Result<ScalarSpec> scalar_from_json(const Json& json, const std::string& where) {
  ScalarSpec scalar;
  KP_ASSIGN(scalar.name, get_string(json, "name", where));
  KP_TRY(check_identifier(scalar.name, where));
  scalar.origin = string_or(json, "origin", "");
  KP_ASSIGN(scalar.is_integer, get_bool(json, "is_integer", where));
  KP_ASSIGN(scalar.value, number_from_json(json, "value", where));
  return scalar;
}

// The member, or an empty list or object when it is missing or null.
Result<Json> list_or_empty(const Json& json, const char* key) {
  auto it = json.find(key);
  if (it == json.end() || it->is_null()) return Json::array();
  if (!it->is_array()) return fail(fmt::format("task: \"{}\" must be a list", key));
  return *it;
}

Result<std::vector<std::string>> strings(const Json& json, const char* key) {
  KP_ASSIGN(Json list, list_or_empty(json, key));
  std::vector<std::string> out;
  for (const auto& item : list) {
    if (!item.is_string()) return fail(fmt::format("task: \"{}\" must hold strings only", key));
    out.push_back(item.get<std::string>());
  }
  return out;
}

Status read_sizes(const Json& json, Task& task) {
  auto it = json.find("sizes");
  if (it == json.end() || it->is_null()) return {};
  if (!it->is_object()) return fail("task: \"sizes\" must be an object");
  for (const auto& [name, value] : it->items()) {
    KP_TRY(check_identifier(name, "task, sizes"));
    KP_ASSIGN(task.sizes[name], get_int(*it, name.c_str(), "task, sizes"));
  }
  return {};
}

Status read_policy(const Json& json, Task& task) {
  KP_ASSIGN(task.precision, parse_precision(string_or(json, "precision", "strict")));
  if (auto it = json.find("tolerance"); it != json.end() && !it->is_null()) {
    Tolerance tolerance;
    KP_ASSIGN(tolerance.atol, get_double(*it, "atol", "task, tolerance"));
    KP_ASSIGN(tolerance.rtol, get_double(*it, "rtol", "task, tolerance"));
    task.tolerance = tolerance;
  }
  if (auto it = json.find("work"); it != json.end() && !it->is_null()) {
    KP_ASSIGN(task.work.bytes, get_double(*it, "bytes", "task, work"));
    KP_ASSIGN(task.work.matmul_flops, get_double(*it, "matmul_flops", "task, work"));
    KP_ASSIGN(task.work.other_flops, get_double(*it, "other_flops", "task, work"));
  }
  return {};
}

}  // namespace

Json to_json(const Task& task) {
  Json tensors = Json::array();
  for (const auto& tensor : task.tensors) tensors.push_back(to_json(tensor));
  Json scalars = Json::array();
  for (const auto& scalar : task.scalars)
    scalars.push_back({{"name", scalar.name},
                       {"origin", scalar.origin},
                       {"is_integer", scalar.is_integer},
                       {"value", number_to_json(scalar.value)}});
  Json sizes = Json::object();
  for (const auto& [name, value] : task.sizes) sizes[name] = value;
  Json tolerance;
  if (task.tolerance) tolerance = {{"atol", task.tolerance->atol}, {"rtol", task.tolerance->rtol}};
  return {{"name", task.name},
          {"path", task.path},
          {"kind", task.kind == TaskKind::native ? "native" : "kernelbench"},
          {"reference_source", task.reference_source},
          {"tensors", tensors},
          {"scalars", scalars},
          {"sizes", sizes},
          {"precision", name_of(task.precision)},
          {"tolerance", tolerance},
          {"work",
           {{"bytes", task.work.bytes},
            {"matmul_flops", task.work.matmul_flops},
            {"other_flops", task.work.other_flops}}},
          {"operators", task.operators},
          {"notes", task.notes}};
}

Result<Task> task_from_json(const Json& json) {
  Task task;
  KP_ASSIGN(task.name, get_string(json, "name", "task"));
  task.path = string_or(json, "path", "");
  KP_ASSIGN(std::string kind, get_string(json, "kind", "task"));
  if (kind != "native" && kind != "kernelbench")
    return fail(fmt::format("task: unknown kind \"{}\"", kind), "allowed: kernelbench, native");
  task.kind = kind == "native" ? TaskKind::native : TaskKind::kernelbench;
  task.reference_source = string_or(json, "reference_source", "");

  std::set<std::string> names;
  KP_ASSIGN(Json tensors, list_or_empty(json, "tensors"));
  for (const auto& item : tensors) {
    KP_ASSIGN(auto tensor,
              tensor_from_json(item, fmt::format("task, tensor {}", task.tensors.size() + 1)));
    if (!names.insert(tensor.name).second)
      return fail(fmt::format("task: two tensors are named \"{}\"", tensor.name));
    task.tensors.push_back(std::move(tensor));
  }
  names.clear();
  KP_ASSIGN(Json scalars, list_or_empty(json, "scalars"));
  for (const auto& item : scalars) {
    KP_ASSIGN(auto scalar,
              scalar_from_json(item, fmt::format("task, scalar {}", task.scalars.size() + 1)));
    if (!names.insert(scalar.name).second)
      return fail(fmt::format("task: two scalars are named \"{}\"", scalar.name));
    task.scalars.push_back(std::move(scalar));
  }
  KP_TRY(read_sizes(json, task));
  KP_TRY(read_policy(json, task));
  KP_ASSIGN(task.operators, strings(json, "operators"));
  KP_ASSIGN(task.notes, strings(json, "notes"));
  return task;
}

}  // namespace kp
