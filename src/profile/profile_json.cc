#include <fmt/format.h>

#include <cmath>

#include "profile/profile.h"

namespace kp {

namespace {

Json to_json(const Roofline& r) {
  Json j = {{"bound", name_of(r.bound)}, {"speed_of_light_ms", r.speed_of_light_ms},
            {"memory_ms", r.memory_ms},  {"compute_ms", r.compute_ms},
            {"launch_ms", r.launch_ms},  {"why", r.why}};
  if (r.by_theory) j["by_theory"] = name_of(*r.by_theory);
  if (r.by_measurement) j["by_measurement"] = name_of(*r.by_measurement);
  return j;
}

Result<Roofline> roofline_from_json(const Json& j) {
  Roofline r;
  KP_ASSIGN(std::string bound, get_string(j, "bound", "profile.roofline"));
  KP_ASSIGN(r.bound, parse_bound(bound));
  auto optional_bound = [&](const char* key, std::optional<BoundClass>& out) -> Status {
    std::string name = string_or(j, key, "");
    if (name.empty()) return {};
    KP_ASSIGN(out, parse_bound(name));
    return {};
  };
  KP_TRY(optional_bound("by_theory", r.by_theory));
  KP_TRY(optional_bound("by_measurement", r.by_measurement));
  r.speed_of_light_ms = double_or(j, "speed_of_light_ms", 0);
  r.memory_ms = double_or(j, "memory_ms", 0);
  r.compute_ms = double_or(j, "compute_ms", 0);
  r.launch_ms = double_or(j, "launch_ms", 0);
  r.why = string_or(j, "why", "");
  return r;
}

Json to_json(const KernelResources& r) {
  return {{"kernel", r.params.kernel},
          {"parameter_sizes", r.params.sizes},
          {"max_threads", r.params.max_threads},
          {"static_smem", r.params.static_smem},
          {"registers", r.registers},
          {"stack_bytes", r.stack_bytes},
          {"spill_store_bytes", r.spill_store_bytes},
          {"spill_load_bytes", r.spill_load_bytes},
          {"barriers", r.barriers}};
}

KernelResources resources_from_json(const Json& j) {
  KernelResources r;
  auto number = [&](const char* key) { return static_cast<std::uint32_t>(int_or(j, key, 0)); };
  r.params.kernel = string_or(j, "kernel", "");
  if (auto sizes = get_ints(j, "parameter_sizes", "resources")) {
    for (std::int64_t s : *sizes) r.params.sizes.push_back(static_cast<std::uint32_t>(s));
  }
  r.params.max_threads = number("max_threads");
  r.params.static_smem = number("static_smem");
  r.registers = number("registers");
  r.stack_bytes = number("stack_bytes");
  r.spill_store_bytes = number("spill_store_bytes");
  r.spill_load_bytes = number("spill_load_bytes");
  r.barriers = number("barriers");
  return r;
}

// The counts are not written: summarize() makes them again from the code.
Json to_json(const SassSummary& s) {
  Json code = Json::array();
  for (const SassInstruction& i : s.code)
    code.push_back({i.address, i.predicate, i.opcode, i.operands, i.line, i.executed, i.samples});
  return {{"function", s.function}, {"signature", s.signature}, {"code", std::move(code)}};
}

Result<SassSummary> sass_from_json(const Json& j) {
  SassSummary s;
  KP_ASSIGN(s.function, get_string(j, "function", "profile.sass"));
  s.signature = string_or(j, "signature", "");
  const Json& code = j.contains("code") ? j["code"] : Json::array();
  for (const Json& row : code) {
    bool ok = row.is_array() && row.size() == 7 && row[0].is_number_unsigned() &&
              row[1].is_string() && row[2].is_string() && row[3].is_string() &&
              row[4].is_number_integer() && row[5].is_number_integer() &&
              row[6].is_number_integer();
    if (!ok)
      return fail(
          fmt::format("profile.sass: instruction {} of {} is not [address, predicate, "
                      "opcode, operands, line, executed, samples]",
                      s.code.size(), s.function));
    SassInstruction i;
    i.address = row[0].get<std::uint32_t>();
    i.predicate = row[1].get<std::string>();
    i.opcode = row[2].get<std::string>();
    i.operands = row[3].get<std::string>();
    i.line = row[4].get<int>();
    i.executed = row[5].get<std::int64_t>();
    i.samples = row[6].get<std::int64_t>();
    s.code.push_back(std::move(i));
  }
  summarize(s);
  return s;
}

Json to_json(const KernelProfile& k) {
  Json metrics = Json::object();
  for (const auto& [metric, measured] : k.metrics)
    metrics[std::string(info_of(metric).name)] = {
        {"value", measured.value}, {"unit", info_of(metric).unit}, {"counter", measured.counter}};
  Json j = {{"kernel", k.kernel},
            {"signature", k.signature},
            {"grid", k.grid},
            {"block", k.block},
            {"metrics", std::move(metrics)}};
  if (k.resources) j["resources"] = to_json(*k.resources);
  if (k.sass) j["sass"] = to_json(*k.sass);
  return j;
}

Dim3 dim3_from_json(const Json& j, const char* key) {
  Dim3 dim{0, 0, 0};
  auto values = get_ints(j, key, "profile");
  if (!values || values->size() != 3) return dim;
  for (std::size_t i = 0; i < 3; ++i) dim[i] = static_cast<std::uint32_t>((*values)[i]);
  return dim;
}

Result<KernelProfile> kernel_from_json(const Json& j) {
  KernelProfile k;
  KP_ASSIGN(k.kernel, get_string(j, "kernel", "profile.kernels"));
  k.signature = string_or(j, "signature", "");
  k.grid = dim3_from_json(j, "grid");
  k.block = dim3_from_json(j, "block");
  if (j.contains("metrics") && j["metrics"].is_object()) {
    for (const auto& [name, value] : j["metrics"].items()) {
      auto metric = metric_named(name);
      if (!metric) continue;  // a newer program's
      KP_ASSIGN(double number, get_double(value, "value", "profile metric " + name));
      if (!(number >= 0) || !std::isfinite(number))
        return fail(fmt::format("profile metric {}: {} is no measurement", name, number));
      std::string unit = string_or(value, "unit", info_of(*metric).unit);
      if (unit != info_of(*metric).unit)
        return fail(fmt::format("profile metric {}: has the unit \"{}\", not \"{}\"", name, unit,
                                info_of(*metric).unit));
      k.metrics[*metric] = {number, string_or(value, "counter", "")};
    }
  }
  if (j.contains("resources")) k.resources = resources_from_json(j["resources"]);
  if (j.contains("sass")) {
    KP_ASSIGN(k.sass, sass_from_json(j["sass"]));
  }
  return k;
}

}  // namespace

Json to_json(const Profile& p) {
  Json kernels = Json::array();
  for (const KernelProfile& k : p.kernels) kernels.push_back(to_json(k));
  Json j = {{"precision", name_of(p.precision)},
            {"roofline", to_json(p.roofline)},
            {"total_us", p.total_us()},
            {"kernels", std::move(kernels)},
            {"notes", p.notes}};
  if (!p.sources.empty()) j["sources"] = p.sources;
  if (p.timeline) j["timeline"] = to_json(*p.timeline);
  if (p.device) j["device"] = to_json(*p.device);
  if (p.ceilings) j["ceilings"] = to_json(*p.ceilings);
  if (p.work)
    j["work"] = {{"bytes", p.work->bytes},
                 {"matmul_flops", p.work->matmul_flops},
                 {"other_flops", p.work->other_flops}};
  return j;
}

Result<Profile> profile_from_json(const Json& j) {
  Profile p;
  if (!j.is_object() || !j.contains("kernels") || !j["kernels"].is_array())
    return fail("profile: expected an object with a list \"kernels\"");
  KP_ASSIGN(p.precision, parse_precision(string_or(j, "precision", name_of(Precision::strict))));
  for (const Json& k : j["kernels"]) {
    KP_ASSIGN(KernelProfile kernel, kernel_from_json(k));
    p.kernels.push_back(std::move(kernel));
  }
  if (j.contains("roofline")) {
    KP_ASSIGN(p.roofline, roofline_from_json(j["roofline"]));
  }
  if (j.contains("timeline")) {
    KP_ASSIGN(p.timeline, timeline_from_json(j["timeline"]));
  }
  if (j.contains("device")) {
    KP_ASSIGN(p.device, device_info_from_json(j["device"]));
  }
  if (j.contains("ceilings")) p.ceilings = ceilings_from_json(j["ceilings"]);
  if (j.contains("work"))
    p.work = Work{double_or(j["work"], "bytes", 0), double_or(j["work"], "matmul_flops", 0),
                  double_or(j["work"], "other_flops", 0)};
  for (auto [key, out] : {std::pair("sources", &p.sources), {"notes", &p.notes}}) {
    if (!j.contains(key) || !j[key].is_array()) continue;
    for (const Json& line : j[key]) {
      if (line.is_string()) out->push_back(line.get<std::string>());
    }
  }
  return p;
}

}  // namespace kp
