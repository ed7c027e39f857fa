// Plan → JSON: what parse_plan reads, without the members that hold their defaults.
#include <fmt/format.h>

#include <algorithm>

#include "candidate/plan.h"

namespace kp {

namespace {

// "256" as the number 256; everything else as a string.
Json expr_to_json(const Expr& expr) {
  bool digits = !expr.empty() && expr.size() < 18 && (expr[0] != '0' || expr == "0") &&
                std::all_of(expr.begin(), expr.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (digits) return static_cast<std::int64_t>(std::stoll(expr));
  return expr;
}

Json exprs_to_json(const std::vector<Expr>& exprs) {
  Json list = Json::array();
  for (const auto& expr : exprs) list.push_back(expr_to_json(expr));
  return list;
}

Json to_json(const PlanTensorMap& map) {
  const PlanTensorMap defaults;
  Json json{{"tensor", map.tensor}};
  if (!map.dims.empty()) json["dims"] = exprs_to_json(map.dims);
  if (!map.strides.empty()) json["strides"] = exprs_to_json(map.strides);
  json["box"] = exprs_to_json(map.box);
  if (map.swizzle != defaults.swizzle) json["swizzle"] = map.swizzle;
  if (map.l2_promotion != defaults.l2_promotion) json["l2_promotion"] = map.l2_promotion;
  if (map.interleave != defaults.interleave) json["interleave"] = map.interleave;
  if (map.nan_fill) json["nan_fill"] = true;
  return json;
}

Json steps_to_json(const std::vector<PlanStep>& steps);

struct StepToJson {
  Json operator()(const PlanKernel& kernel) const {
    Json json{{"kernel", kernel.kernel},
              {"grid", exprs_to_json(kernel.grid)},
              {"block", exprs_to_json(kernel.block)}};
    if (!kernel.cluster.empty()) json["cluster"] = exprs_to_json(kernel.cluster);
    if (kernel.dynamic_smem != "0") json["dynamic_smem"] = expr_to_json(kernel.dynamic_smem);
    if (kernel.cooperative) json["cooperative"] = true;
    if (kernel.programmatic_dependent_launch) json["programmatic_dependent_launch"] = true;
    json["args"] = kernel.args;
    return json;
  }
  Json operator()(const PlanMemset& memset) const {
    return {{"memset", memset.target}, {"value", memset.value}};
  }
  Json operator()(const PlanCopy& copy) const { return {{"copy", copy.from}, {"to", copy.to}}; }
  Json operator()(const PlanRepeat& repeat) const {
    return {{"repeat", expr_to_json(repeat.count)},
            {"index", repeat.index},
            {"steps", steps_to_json(repeat.steps)}};
  }
};

Json steps_to_json(const std::vector<PlanStep>& steps) {
  Json list = Json::array();
  for (const auto& step : steps) list.push_back(std::visit(StepToJson{}, step));
  return list;
}

}  // namespace

Json to_json(const Plan& plan) {
  Json json = Json::object();
  for (const auto& buffer : plan.buffers)
    json["buffers"][buffer.name] = {{"dtype", name_of(buffer.dtype)},
                                    {"shape", exprs_to_json(buffer.shape)}};
  for (const auto& map : plan.tensor_maps) json["tensor_maps"][map.name] = to_json(map);
  json["steps"] = steps_to_json(plan.steps);
  return json;
}

}  // namespace kp
