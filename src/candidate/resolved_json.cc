// ResolvedPlan ↔ JSON, as it travels to the runner. Values are hexadecimal bytes.
#include <fmt/format.h>

#include <limits>

#include "base/text.h"
#include "candidate/resolve.h"

namespace kp {

namespace {

constexpr std::int64_t kMaxU32 = std::numeric_limits<std::uint32_t>::max();

Json dim3_to_json(const Dim3& dims) {
  return Json::array({dims[0], dims[1], dims[2]});
}

struct ArgToJson {
  Json operator()(const PointerArg& arg) const { return {{"pointer", arg.name}}; }
  Json operator()(const TensorMapArg& arg) const { return {{"tensor_map", arg.name}}; }
  Json operator()(const ValueArg& arg) const {
    std::string hex;
    for (std::uint8_t byte : arg.bytes) hex += fmt::format("{:02x}", byte);
    return {{"value", hex}, {"text", arg.text}};
  }
};

struct StepToJson {
  Json operator()(const KernelLaunch& launch) const {
    Json args = Json::array();
    for (const auto& arg : launch.args) args.push_back(std::visit(ArgToJson{}, arg));
    return {{"kernel", launch.kernel},
            {"grid", dim3_to_json(launch.grid)},
            {"block", dim3_to_json(launch.block)},
            {"cluster", dim3_to_json(launch.cluster)},
            {"dynamic_smem", launch.dynamic_smem},
            {"cooperative", launch.cooperative},
            {"programmatic_dependent_launch", launch.programmatic_dependent_launch},
            {"args", args},
            {"where", launch.where}};
  }
  Json operator()(const MemsetStep& step) const {
    return {{"memset", step.target}, {"value", step.value}, {"bytes", step.bytes}};
  }
  Json operator()(const CopyStep& step) const {
    return {{"copy", step.from}, {"to", step.to}, {"bytes", step.bytes}};
  }
};

Json to_json(const ResolvedTensorMap& map) {
  return {{"name", map.name},
          {"tensor", map.tensor},
          {"dtype", name_of(map.dtype)},
          {"dims", map.dims},
          {"stride_bytes", map.stride_bytes},
          {"box", map.box},
          {"swizzle", map.swizzle},
          {"l2_promotion", map.l2_promotion},
          {"interleave", map.interleave},
          {"nan_fill", map.nan_fill}};
}

Result<std::int64_t> int_within(const Json& json, const char* key, std::int64_t high,
                                const std::string& where) {
  KP_ASSIGN(std::int64_t value, get_int(json, key, where));
  if (value < 0 || value > high)
    return fail(fmt::format("{}: \"{}\" is {}, outside 0 to {}", where, key, value, high));
  return value;
}

template <class T>
Result<std::vector<T>> ints_within(const Json& json, const char* key, std::int64_t high,
                                   const std::string& where) {
  KP_ASSIGN(auto values, get_ints(json, key, where));
  std::vector<T> out;
  for (std::int64_t value : values) {
    if (value < 0 || value > high)
      return fail(fmt::format("{}: \"{}\" holds {}, outside 0 to {}", where, key, value, high));
    out.push_back(static_cast<T>(value));
  }
  return out;
}

Result<Dim3> dim3_from_json(const Json& json, const char* key, const std::string& where) {
  KP_ASSIGN(auto values, ints_within<std::uint32_t>(json, key, kMaxU32, where));
  if (values.size() != 3) return fail(fmt::format("{}: \"{}\" must hold 3 numbers", where, key));
  return Dim3{values[0], values[1], values[2]};
}

Result<ResolvedArg> arg_from_json(const Json& json, const std::string& where) {
  if (json.is_object() && json.contains("pointer")) {
    KP_ASSIGN(std::string name, get_string(json, "pointer", where));
    return ResolvedArg(PointerArg{std::move(name)});
  }
  if (json.is_object() && json.contains("tensor_map")) {
    KP_ASSIGN(std::string name, get_string(json, "tensor_map", where));
    return ResolvedArg(TensorMapArg{std::move(name)});
  }
  KP_ASSIGN(std::string hex, get_string(json, "value", where));
  ValueArg value;
  KP_ASSIGN(value.text, get_string(json, "text", where));
  if (hex.size() % 2 != 0 || hex.size() > 32 ||
      hex.find_first_not_of("0123456789abcdef") != std::string::npos)
    return fail(fmt::format("{}: \"{}\" is not a value's bytes", where, hex));
  for (std::size_t i = 0; i < hex.size(); i += 2)
    value.bytes.push_back(static_cast<std::uint8_t>(std::stoul(hex.substr(i, 2), nullptr, 16)));
  return ResolvedArg(std::move(value));
}

Result<ResolvedStep> step_from_json(const Json& json, const std::string& where) {
  if (!json.is_object()) return fail(where + ": must be an object");
  if (json.contains("memset")) {
    MemsetStep step;
    KP_ASSIGN(step.target, get_string(json, "memset", where));
    KP_ASSIGN(std::int64_t value, int_within(json, "value", 255, where));
    step.value = static_cast<std::uint8_t>(value);
    KP_ASSIGN(step.bytes, get_int(json, "bytes", where));
    return ResolvedStep(std::move(step));
  }
  if (json.contains("copy")) {
    CopyStep step;
    KP_ASSIGN(step.from, get_string(json, "copy", where));
    KP_ASSIGN(step.to, get_string(json, "to", where));
    KP_ASSIGN(step.bytes, get_int(json, "bytes", where));
    return ResolvedStep(std::move(step));
  }
  KernelLaunch launch;
  KP_ASSIGN(launch.kernel, get_string(json, "kernel", where));
  KP_ASSIGN(launch.grid, dim3_from_json(json, "grid", where));
  KP_ASSIGN(launch.block, dim3_from_json(json, "block", where));
  KP_ASSIGN(launch.cluster, dim3_from_json(json, "cluster", where));
  KP_ASSIGN(std::int64_t smem, int_within(json, "dynamic_smem", kMaxU32, where));
  launch.dynamic_smem = static_cast<std::uint32_t>(smem);
  KP_ASSIGN(launch.cooperative, get_bool(json, "cooperative", where));
  KP_ASSIGN(launch.programmatic_dependent_launch,
            get_bool(json, "programmatic_dependent_launch", where));
  KP_ASSIGN(launch.where, get_string(json, "where", where));
  auto args = json.find("args");
  if (args == json.end() || !args->is_array()) return fail(where + ": \"args\" must be a list");
  for (const auto& item : *args) {
    KP_ASSIGN(ResolvedArg arg, arg_from_json(item, where));
    launch.args.push_back(std::move(arg));
  }
  return ResolvedStep(std::move(launch));
}

Result<ResolvedBuffer> buffer_from_json(const Json& json, const std::string& where) {
  ResolvedBuffer buffer;
  KP_ASSIGN(buffer.name, get_string(json, "name", where));
  KP_ASSIGN(std::string dtype, get_string(json, "dtype", where));
  KP_ASSIGN(buffer.dtype, parse_dtype(dtype));
  KP_ASSIGN(buffer.shape, get_ints(json, "shape", where));
  KP_ASSIGN(buffer.bytes,
            int_within(json, "bytes", std::numeric_limits<std::int64_t>::max(), where));
  return buffer;
}

Result<ResolvedTensorMap> map_from_json(const Json& json, const std::string& where) {
  ResolvedTensorMap map;
  KP_ASSIGN(map.name, get_string(json, "name", where));
  KP_ASSIGN(map.tensor, get_string(json, "tensor", where));
  KP_ASSIGN(std::string dtype, get_string(json, "dtype", where));
  KP_ASSIGN(map.dtype, parse_dtype(dtype));
  KP_ASSIGN(map.dims, ints_within<std::uint64_t>(json, "dims", std::int64_t{1} << 32, where));
  KP_ASSIGN(map.stride_bytes,
            ints_within<std::uint64_t>(json, "stride_bytes", std::int64_t{1} << 40, where));
  KP_ASSIGN(map.box, ints_within<std::uint32_t>(json, "box", 256, where));
  if (map.dims.empty() || map.dims.size() > 5 || map.box.size() != map.dims.size() ||
      map.stride_bytes.size() + 1 != map.dims.size())
    return fail(where + ": dims, strides and box do not fit together");
  KP_ASSIGN(map.swizzle, get_string(json, "swizzle", where));
  KP_ASSIGN(map.l2_promotion, get_string(json, "l2_promotion", where));
  KP_ASSIGN(map.interleave, get_string(json, "interleave", where));
  KP_ASSIGN(map.nan_fill, get_bool(json, "nan_fill", where));
  return map;
}

// Reads each item of the list `key` into `out`.
template <class T, class Read>
Status read_list(const Json& json, const char* key, Read read, std::vector<T>& out) {
  auto it = json.find(key);
  if (it == json.end() || !it->is_array())
    return fail(fmt::format("resolved plan: \"{}\" must be a list", key));
  for (const auto& item : *it) {
    KP_ASSIGN(T value, read(item, fmt::format("resolved plan, {}[{}]", key, out.size())));
    out.push_back(std::move(value));
  }
  return {};
}

}  // namespace

Json to_json(const ResolvedPlan& plan) {
  Json buffers = Json::array();
  for (const auto& buffer : plan.buffers)
    buffers.push_back({{"name", buffer.name},
                       {"dtype", name_of(buffer.dtype)},
                       {"shape", buffer.shape},
                       {"bytes", buffer.bytes}});
  Json maps = Json::array();
  for (const auto& map : plan.tensor_maps) maps.push_back(to_json(map));
  Json steps = Json::array();
  for (const auto& step : plan.steps) steps.push_back(std::visit(StepToJson{}, step));
  return {{"buffers", buffers}, {"tensor_maps", maps}, {"steps", steps}};
}

Result<ResolvedPlan> resolved_plan_from_json(const Json& json) {
  if (!json.is_object()) return fail("resolved plan: must be an object");
  ResolvedPlan plan;
  KP_TRY(read_list(json, "buffers", buffer_from_json, plan.buffers));
  KP_TRY(read_list(json, "tensor_maps", map_from_json, plan.tensor_maps));
  KP_TRY(read_list(json, "steps", step_from_json, plan.steps));
  return plan;
}

}  // namespace kp
