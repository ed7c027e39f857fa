#include <fmt/format.h>

#include "profile/timeline.h"

namespace kp {

namespace {

constexpr std::string_view kWhere = "profile.timeline";

Json to_json(const GpuEvent& e) {
  Json j = {{"work", name_of(e.work)},      {"name", e.name},     {"start_ns", e.start_ns},
            {"duration_ns", e.duration_ns}, {"device", e.device}, {"stream", e.stream}};
  if (e.correlation >= 0) j["correlation"] = e.correlation;
  if (e.graph_node != 0) j["graph_node"] = e.graph_node;
  if (e.bytes > 0) j["bytes"] = e.bytes;
  if (e.registers > 0) j["registers"] = e.registers;
  if (e.work == GpuWork::kernel) {
    j["grid"] = e.grid;
    j["block"] = e.block;
  }
  if (e.call_start_ns >= 0) {
    j["call_start_ns"] = e.call_start_ns;
    j["call_duration_ns"] = e.call_duration_ns;
  }
  return j;
}

Result<GpuWork> parse_work(std::string_view name) {
  for (GpuWork work : {GpuWork::kernel, GpuWork::copy, GpuWork::fill, GpuWork::graph}) {
    if (name == name_of(work)) return work;
  }
  return fail(fmt::format("{}: no work \"{}\" (kernel, copy, fill, graph)", kWhere, name));
}

Dim3 dim3_from_json(const Json& j, const char* key) {
  auto values = get_ints(j, key, kWhere);
  if (!values || values->size() != 3) return {0, 0, 0};
  Dim3 dim{0, 0, 0};
  for (std::size_t i = 0; i < 3; ++i) {
    if ((*values)[i] < 0 || (*values)[i] > 0xffffffffLL) return {0, 0, 0};
    dim[i] = static_cast<std::uint32_t>((*values)[i]);
  }
  return dim;
}

Result<GpuEvent> event_from_json(const Json& j) {
  GpuEvent e;
  KP_ASSIGN(std::string work, get_string(j, "work", kWhere));
  KP_ASSIGN(e.work, parse_work(work));
  KP_ASSIGN(e.name, get_string(j, "name", kWhere));
  KP_ASSIGN(e.start_ns, get_int(j, "start_ns", kWhere));
  KP_ASSIGN(e.duration_ns, get_int(j, "duration_ns", kWhere));
  e.call_start_ns = int_or(j, "call_start_ns", -1);
  e.call_duration_ns = int_or(j, "call_duration_ns", 0);
  if (!is_time(e.start_ns) || !is_time(e.duration_ns) || e.call_start_ns < -1 ||
      (e.call_start_ns >= 0 && !is_time(e.call_start_ns)) || !is_time(e.call_duration_ns))
    return fail(fmt::format("{}: an event of {} lies outside all time", kWhere, e.name));
  e.device = static_cast<int>(int_or(j, "device", 0));
  e.stream = static_cast<int>(int_or(j, "stream", 0));
  e.correlation = int_or(j, "correlation", -1);
  e.graph_node = int_or(j, "graph_node", 0);
  e.bytes = double_or(j, "bytes", 0);
  e.registers = static_cast<int>(int_or(j, "registers", 0));
  e.grid = dim3_from_json(j, "grid");
  e.block = dim3_from_json(j, "block");
  return e;
}

Json to_json(const std::vector<TimeSum>& sums) {
  Json list = Json::array();
  for (const TimeSum& s : sums)
    list.push_back({{"name", s.name},
                    {"count", s.count},
                    {"total_us", s.total_us},
                    {"median_us", s.median_us},
                    {"min_us", s.min_us},
                    {"max_us", s.max_us}});
  return list;
}

Status read_sums(const Json& j, const char* key, std::vector<TimeSum>& out) {
  if (!j.contains(key) || !j[key].is_array()) return {};
  for (const Json& row : j[key]) {
    TimeSum s;
    KP_ASSIGN(s.name, get_string(row, "name", kWhere));
    KP_ASSIGN(s.count, get_int(row, "count", kWhere));
    KP_ASSIGN(s.total_us, get_double(row, "total_us", kWhere));
    s.median_us = double_or(row, "median_us", 0);
    s.min_us = double_or(row, "min_us", 0);
    s.max_us = double_or(row, "max_us", 0);
    out.push_back(std::move(s));
  }
  return {};
}

}  // namespace

Json to_json(const Timeline& t) {
  Json events = Json::array();
  for (const GpuEvent& e : t.events) events.push_back(to_json(e));
  return {{"span_us", t.span_us},
          {"busy_us", t.busy_us},
          {"gap_us", t.gap_us},
          {"largest_gap_us", t.largest_gap_us},
          {"gaps", t.gaps},
          {"graph_nodes", t.graph_nodes},
          {"left_out", t.left_out},
          {"kernels", to_json(t.kernels)},
          {"transfers", to_json(t.transfers)},
          {"calls", to_json(t.calls)},
          {"events", std::move(events)}};
}

Result<Timeline> timeline_from_json(const Json& j) {
  Timeline t;
  if (!j.is_object()) return fail(fmt::format("{}: expected an object", kWhere));
  t.span_us = double_or(j, "span_us", 0);
  t.busy_us = double_or(j, "busy_us", 0);
  t.gap_us = double_or(j, "gap_us", 0);
  t.largest_gap_us = double_or(j, "largest_gap_us", 0);
  t.gaps = int_or(j, "gaps", 0);
  t.graph_nodes = int_or(j, "graph_nodes", 0);
  t.left_out = int_or(j, "left_out", 0);
  KP_TRY(read_sums(j, "kernels", t.kernels));
  KP_TRY(read_sums(j, "transfers", t.transfers));
  KP_TRY(read_sums(j, "calls", t.calls));
  if (j.contains("events") && j["events"].is_array()) {
    for (const Json& row : j["events"]) {
      KP_ASSIGN(GpuEvent event, event_from_json(row));
      t.events.push_back(std::move(event));
    }
  }
  return t;
}

}  // namespace kp
