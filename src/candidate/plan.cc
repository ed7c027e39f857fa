#include "candidate/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "task/check.h"

namespace kp {

namespace {

constexpr int kMaxNesting = 8;  // repeats inside repeats

Status check_keys(const Json& object, const std::vector<std::string>& known,
                  const std::string& where) {
  if (!object.is_object()) return fail(fmt::format("{}: must be an object", where));
  for (const auto& [key, value] : object.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    std::string near = nearest(key, known);
    return fail(fmt::format("{}: unknown key \"{}\"{}", where, key,
                            near.empty() ? "" : fmt::format(" (did you mean \"{}\"?)", near)),
                "allowed: " + join(known, ", "));
  }
  return {};
}

Result<Expr> expr_of(const Json& value, const std::string& where) {
  if (value.is_number_integer()) return value.dump();
  if (value.is_string()) return value.get<std::string>();
  return fail(fmt::format("{}: must be a whole number or an expression in quotes, not {}", where,
                          dump_json(value)));
}

Status read_exprs(const Json& object, const char* key, std::size_t at_least, std::size_t at_most,
                  const std::string& where, std::vector<Expr>& out) {
  auto it = object.find(key);
  if (it == object.end()) return {};
  std::string here = fmt::format("{}: \"{}\"", where, key);
  if (!it->is_array() || it->size() < at_least || it->size() > at_most)
    return fail(fmt::format("{} must be a list of {} to {} expressions, not {}", here, at_least,
                            at_most, dump_json(*it)));
  out.clear();
  for (const auto& item : *it) {
    KP_ASSIGN(Expr expr, expr_of(item, here));
    out.push_back(std::move(expr));
  }
  return {};
}

Status read_bool(const Json& object, const char* key, const std::string& where, bool& out) {
  if (object.contains(key)) {
    KP_ASSIGN(out, get_bool(object, key, where));
  }
  return {};
}

Status read_choice(const Json& object, const char* key, const std::vector<std::string>& allowed,
                   const std::string& where, std::string& out) {
  if (!object.contains(key)) return {};
  KP_ASSIGN(out, get_string(object, key, where));
  if (std::find(allowed.begin(), allowed.end(), out) != allowed.end()) return {};
  return fail(fmt::format("{}: \"{}\" cannot be \"{}\"", where, key, out),
              "allowed: " + join(allowed, ", "));
}

Result<PlanBuffer> parse_buffer(const std::string& name, const Json& json,
                                const std::string& where) {
  KP_TRY(check_identifier(name, where));
  KP_TRY(check_keys(json, {"dtype", "shape"}, where));
  PlanBuffer buffer;
  buffer.name = name;
  KP_ASSIGN(std::string dtype, get_string(json, "dtype", where));
  auto type = parse_dtype(dtype);
  if (!type) return fail(where + ": " + type.error().message, type.error().hint);
  buffer.dtype = *type;
  if (!json.contains("shape")) return fail(where + ": \"shape\" is missing");
  KP_TRY(read_exprs(json, "shape", 0, 16, where, buffer.shape));
  return buffer;
}

Result<PlanTensorMap> parse_tensor_map(const std::string& name, const Json& json,
                                       const std::string& where) {
  KP_TRY(check_identifier(name, where));
  KP_TRY(check_keys(
      json,
      {"tensor", "dims", "strides", "box", "swizzle", "l2_promotion", "interleave", "nan_fill"},
      where));
  PlanTensorMap map;
  map.name = name;
  KP_ASSIGN(map.tensor, get_string(json, "tensor", where));
  if (!json.contains("box")) return fail(where + ": \"box\" is missing");
  KP_TRY(read_exprs(json, "box", 1, 5, where, map.box));
  KP_TRY(read_exprs(json, "dims", 1, 5, where, map.dims));
  KP_TRY(read_exprs(json, "strides", 0, 4, where, map.strides));
  KP_TRY(read_choice(json, "swizzle", {"none", "32B", "64B", "128B"}, where, map.swizzle));
  KP_TRY(
      read_choice(json, "l2_promotion", {"none", "64B", "128B", "256B"}, where, map.l2_promotion));
  KP_TRY(read_choice(json, "interleave", {"none", "16B", "32B"}, where, map.interleave));
  KP_TRY(read_bool(json, "nan_fill", where, map.nan_fill));
  return map;
}

Result<PlanStep> parse_kernel(const Json& json, const std::string& step) {
  PlanKernel kernel;
  KP_ASSIGN(kernel.kernel, get_string(json, "kernel", step));
  if (kernel.kernel.empty()) return fail(step + ": \"kernel\" is empty");
  std::string where = fmt::format("{} ({})", step, kernel.kernel);
  KP_TRY(check_keys(json,
                    {"kernel", "grid", "block", "cluster", "dynamic_smem", "cooperative",
                     "programmatic_dependent_launch", "args"},
                    where));
  for (const char* key : {"grid", "block", "args"}) {
    if (!json.contains(key)) return fail(fmt::format("{}: \"{}\" is missing", where, key));
  }
  KP_TRY(read_exprs(json, "grid", 1, 3, where, kernel.grid));
  KP_TRY(read_exprs(json, "block", 1, 3, where, kernel.block));
  KP_TRY(read_exprs(json, "cluster", 0, 3, where, kernel.cluster));
  if (auto it = json.find("dynamic_smem"); it != json.end()) {
    KP_ASSIGN(kernel.dynamic_smem, expr_of(*it, where + ": \"dynamic_smem\""));
  }
  KP_TRY(read_bool(json, "cooperative", where, kernel.cooperative));
  KP_TRY(read_bool(json, "programmatic_dependent_launch", where,
                   kernel.programmatic_dependent_launch));
  const Json& args = json["args"];
  if (!args.is_array()) return fail(where + ": \"args\" must be a list");
  for (const auto& arg : args) {
    if (!arg.is_string())
      return fail(
          fmt::format("{}: argument {} is {}", where, kernel.args.size() + 1, dump_json(arg)),
          "write a tensor's or buffer's name, or a typed value such as \"i32:256\"");
    kernel.args.push_back(arg.get<std::string>());
  }
  return PlanStep(std::move(kernel));
}

Result<PlanStep> parse_memset(const Json& json, const std::string& step) {
  KP_TRY(check_keys(json, {"memset", "value"}, step));
  PlanMemset memset;
  KP_ASSIGN(memset.target, get_string(json, "memset", step));
  if (json.contains("value")) {
    KP_ASSIGN(std::int64_t value, get_int(json, "value", step));
    if (value < 0 || value > 255)
      return fail(fmt::format("{}: memset sets every byte to 0 to 255, not {}", step, value));
    memset.value = static_cast<std::uint8_t>(value);
  }
  return PlanStep(std::move(memset));
}

Result<PlanStep> parse_copy(const Json& json, const std::string& step) {
  KP_TRY(check_keys(json, {"copy", "to"}, step));
  PlanCopy copy;
  KP_ASSIGN(copy.from, get_string(json, "copy", step));
  KP_ASSIGN(copy.to, get_string(json, "to", step));
  return PlanStep(std::move(copy));
}

// Where a list of steps stands: numbers inside repeats go on as "2.1".
struct Place {
  std::string plan;    // "relu.cu: plan"
  std::string prefix;  // "2." inside step 2
  int depth = 0;
};

Result<std::vector<PlanStep>> parse_steps(const Json& object, const std::string& where,
                                          const Place& place);

Result<PlanStep> parse_repeat(const Json& json, const std::string& step, const Place& inside) {
  KP_TRY(check_keys(json, {"repeat", "index", "steps"}, step));
  if (inside.depth > kMaxNesting)
    return fail(fmt::format("{}: repeats nested deeper than {} levels", step, kMaxNesting));
  PlanRepeat repeat;
  KP_ASSIGN(repeat.count, expr_of(json["repeat"], step + ": \"repeat\""));
  KP_ASSIGN(repeat.index, get_string(json, "index", step));
  KP_TRY(check_identifier(repeat.index, step + ": \"index\""));
  KP_ASSIGN(repeat.steps, parse_steps(json, step, inside));
  return PlanStep(std::move(repeat));
}

Result<PlanStep> parse_step(const Json& json, const Place& place, std::size_t index) {
  std::string number = place.prefix + std::to_string(index + 1);
  std::string step = fmt::format("{}, step {}", place.plan, number);
  if (!json.is_object()) return fail(step + ": must be an object");
  if (json.contains("kernel")) return parse_kernel(json, step);
  if (json.contains("memset")) return parse_memset(json, step);
  if (json.contains("copy")) return parse_copy(json, step);
  if (json.contains("repeat"))
    return parse_repeat(json, step, {place.plan, number + ".", place.depth + 1});
  return fail(step + ": not a step",
              "a step has one of the keys \"kernel\", \"memset\", \"copy\" and \"repeat\"");
}

Result<std::vector<PlanStep>> parse_steps(const Json& object, const std::string& where,
                                          const Place& place) {
  auto it = object.find("steps");
  if (it == object.end() || !it->is_array() || it->empty())
    return fail(where + ": \"steps\" must be a list of at least one step");
  std::vector<PlanStep> steps;
  for (const auto& item : *it) {
    KP_ASSIGN(PlanStep step, parse_step(item, place, steps.size()));
    steps.push_back(std::move(step));
  }
  return steps;
}

}  // namespace

Result<Plan> parse_plan(const Json& json, std::string_view where_view) {
  std::string where(where_view);
  KP_TRY(check_keys(json, {"buffers", "tensor_maps", "steps"}, where));
  Plan plan;
  if (auto it = json.find("buffers"); it != json.end()) {
    if (!it->is_object()) return fail(where + ": \"buffers\" must be an object");
    for (const auto& [name, value] : it->items()) {
      KP_ASSIGN(auto buffer, parse_buffer(name, value, fmt::format("{}, buffer {}", where, name)));
      plan.buffers.push_back(std::move(buffer));
    }
  }
  if (auto it = json.find("tensor_maps"); it != json.end()) {
    if (!it->is_object()) return fail(where + ": \"tensor_maps\" must be an object");
    for (const auto& [name, value] : it->items()) {
      KP_ASSIGN(auto map,
                parse_tensor_map(name, value, fmt::format("{}, tensor map {}", where, name)));
      plan.tensor_maps.push_back(std::move(map));
    }
  }
  KP_ASSIGN(plan.steps, parse_steps(json, where, {where, "", 0}));
  return plan;
}

}  // namespace kp
