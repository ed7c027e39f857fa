#include "verdict/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/text.h"

namespace kp {

namespace {

struct OutcomeName {
  Outcome outcome;
  std::string_view name;
};
constexpr std::array<OutcomeName, 8> kOutcomes = {{{Outcome::correct, "correct"},
                                                   {Outcome::incorrect, "incorrect"},
                                                   {Outcome::plan_error, "plan_error"},
                                                   {Outcome::compile_error, "compile_error"},
                                                   {Outcome::crashed, "crashed"},
                                                   {Outcome::timed_out, "timed_out"},
                                                   {Outcome::out_of_memory, "out_of_memory"},
                                                   {Outcome::dishonest, "dishonest"}}};

// JSON has no NaN and no infinities: they travel as "nan", "inf" and "-inf".
Json number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

double number_or(const Json& object, const char* key, double otherwise) {
  std::string text = string_or(object, key, "");
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  return double_or(object, key, otherwise);
}

Json list_of(const Json& object, const char* key) {
  if (!object.is_object()) return Json::array();
  auto it = object.find(key);
  return it != object.end() && it->is_array() ? *it : Json::array();
}

// What identifies the build and sums up its use of resources; its log and diagnostics stay in the
// build cache, under the key.
Build build_summary_from_json(const Json& json) {
  Build build;
  build.ok = bool_or(json, "ok", false);
  build.key = string_or(json, "key", "");
  build.arch = string_or(json, "arch", "");
  build.cubin = string_or(json, "cubin", "");
  build.log = string_or(json, "log", "");
  build.seconds = double_or(json, "seconds", 0);
  build.cached = bool_or(json, "cached", false);
  build.timed_out = bool_or(json, "timed_out", false);
  return build;
}

}  // namespace

std::string_view name_of(Outcome outcome) {
  for (const auto& row : kOutcomes)
    if (row.outcome == outcome) return row.name;
  KP_CHECK(!"outcome has a name");
}

Result<Outcome> parse_outcome(std::string_view name) {
  for (const auto& row : kOutcomes)
    if (row.name == name) return row.outcome;
  std::vector<std::string> known;
  known.reserve(kOutcomes.size());
  for (const auto& row : kOutcomes) known.emplace_back(row.name);
  return fail(fmt::format("unknown outcome \"{}\"", name), "known: " + join(known, ", "));
}

std::optional<double> Verdict::speedup(std::string_view baseline) const {
  if (!timing || !(timing->median_ms > 0)) return std::nullopt;
  for (const auto& b : baselines)
    if (b.name == baseline) return b.timing.median_ms / timing->median_ms;
  return std::nullopt;
}

std::optional<double> Verdict::speedup() const {
  return baselines.empty() ? std::nullopt : speedup(baselines.front().name);
}

Json to_json(const Timing& timing) {
  return {{"median_ms", number(timing.median_ms)},
          {"mad_ms", number(timing.mad_ms)},
          {"ci95_ms", {number(timing.ci95_ms.low), number(timing.ci95_ms.high)}},
          {"samples", timing.samples},
          {"mode", timing.mode},
          {"l2", timing.l2}};
}

Timing timing_from_json(const Json& json) {
  Timing timing;
  timing.median_ms = number_or(json, "median_ms", 0);
  timing.mad_ms = number_or(json, "mad_ms", 0);
  const Json ci = list_of(json, "ci95_ms");
  if (ci.size() == 2 && ci[0].is_number() && ci[1].is_number())
    timing.ci95_ms = {ci[0].get<double>(), ci[1].get<double>()};
  timing.samples = static_cast<int>(int_or(json, "samples", 0));
  timing.mode = string_or(json, "mode", "");
  timing.l2 = string_or(json, "l2", "cold");
  return timing;
}

void keep_worst(std::vector<LeafError>& known, const std::vector<LeafError>& more) {
  for (const auto& leaf : more) {
    auto it = std::find_if(known.begin(), known.end(),
                           [&](const LeafError& k) { return k.tensor == leaf.tensor; });
    if (it == known.end()) {
      known.push_back(leaf);
    } else if ((it->ok && !leaf.ok) || (it->ok == leaf.ok && leaf.rel_l2 > it->rel_l2)) {
      *it = leaf;
    }
  }
}

void keep_less_exact(std::string& known, const std::string& found) {
  auto rank = [](std::string_view name) {
    if (name == "exact") return 0;
    if (name == "fp32-equivalent") return 1;
    return name == "tf32" ? 2 : 3;
  };
  if (known.empty() || rank(found) >= rank(known)) known = found;
}

std::string failing_reason(const std::vector<LeafError>& leaves) {
  std::string reason;
  for (const auto& leaf : leaves)
    if (!leaf.ok) reason = leaf.reason;
  return reason;
}

Json to_json(const Conditions& c) {
  return {{"sm_mhz", {c.sm_mhz_min, c.sm_mhz_max}},
          {"memory_mhz", c.memory_mhz},
          {"temperature_c", c.temperature_c},
          {"power_w", c.power_w},
          {"throttle", c.throttle},
          {"redone", c.redone}};
}

Json to_json(const Energy& e) {
  return {{"joules", e.joules},   {"ci95", {e.ci95.low, e.ci95.high}},
          {"idle_w", e.idle_w},   {"above_idle_j", e.above_idle_j},
          {"power_w", e.power_w}, {"windows", e.windows}};
}

namespace {

std::optional<Interval> interval_from_json(const Json& json) {
  if (!json.is_array() || json.size() != 2 || !json[0].is_number() || !json[1].is_number())
    return std::nullopt;
  return Interval{json[0].get<double>(), json[1].get<double>()};
}

Conditions conditions_from_json(const Json& json) {
  Conditions c;
  if (auto mhz = interval_from_json(json.value("sm_mhz", Json()))) {
    c.sm_mhz_min = mhz->low;
    c.sm_mhz_max = mhz->high;
  }
  c.memory_mhz = double_or(json, "memory_mhz", 0);
  c.temperature_c = double_or(json, "temperature_c", 0);
  c.power_w = double_or(json, "power_w", 0);
  for (const auto& reason : list_of(json, "throttle"))
    if (reason.is_string()) c.throttle.push_back(reason.get<std::string>());
  c.redone = static_cast<int>(int_or(json, "redone", 0));
  return c;
}

Energy energy_from_json(const Json& json) {
  Energy e;
  e.joules = double_or(json, "joules", 0);
  e.ci95 = interval_from_json(json.value("ci95", Json())).value_or(Interval{});
  e.idle_w = double_or(json, "idle_w", 0);
  e.above_idle_j = double_or(json, "above_idle_j", 0);
  e.power_w = double_or(json, "power_w", 0);
  e.windows = static_cast<int>(int_or(json, "windows", 0));
  return e;
}

}  // namespace

Json to_json(const LeafError& leaf) {
  Json json = {{"tensor", leaf.tensor},
               {"ok", leaf.ok},
               {"max_abs", number(leaf.max_abs)},
               {"rel_l2", number(leaf.rel_l2)},
               {"eager_max_abs", number(leaf.eager_max_abs)},
               {"eager_rel_l2", number(leaf.eager_rel_l2)},
               {"outside", leaf.outside},
               {"worst_index", leaf.worst_index},
               {"expected", number(leaf.expected)},
               {"actual", number(leaf.actual)},
               {"reason", leaf.reason}};
  if (leaf.quantiles)
    json["quantiles"] = {{"p50", number(leaf.quantiles->p50)},
                         {"p90", number(leaf.quantiles->p90)},
                         {"p99", number(leaf.quantiles->p99)},
                         {"max", number(leaf.quantiles->max)}};
  return json;
}

LeafError leaf_error_from_json(const Json& json) {
  LeafError leaf;
  leaf.tensor = string_or(json, "tensor", "");
  leaf.ok = bool_or(json, "ok", false);
  leaf.max_abs = number_or(json, "max_abs", 0);
  leaf.rel_l2 = number_or(json, "rel_l2", 0);
  leaf.eager_max_abs = number_or(json, "eager_max_abs", 0);
  leaf.eager_rel_l2 = number_or(json, "eager_rel_l2", 0);
  leaf.outside = number_or(json, "outside", 0);
  for (const auto& i : list_of(json, "worst_index"))
    if (i.is_number_integer()) leaf.worst_index.push_back(i.get<std::int64_t>());
  leaf.expected = number_or(json, "expected", 0);
  leaf.actual = number_or(json, "actual", 0);
  leaf.reason = string_or(json, "reason", "");
  if (const Json q = json.value("quantiles", Json()); q.is_object())
    leaf.quantiles = {number_or(q, "p50", 0), number_or(q, "p90", 0), number_or(q, "p99", 0),
                      number_or(q, "max", 0)};
  return leaf;
}

Json to_json(const Verdict& verdict) {
  Json json = {{"outcome", name_of(verdict.outcome)},
               {"reason", verdict.reason},
               {"detail", verdict.detail},
               {"seeds", verdict.seeds},
               {"accuracy_class", verdict.accuracy_class}};
  json["leaves"] = Json::array();
  for (const auto& leaf : verdict.leaves) json["leaves"].push_back(to_json(leaf));
  json["timing"] = verdict.timing ? to_json(*verdict.timing) : Json();
  json["timings"] = Json::array();
  for (const auto& timing : verdict.timings) json["timings"].push_back(to_json(timing));
  json["baselines"] = Json::array();
  for (const auto& b : verdict.baselines)
    json["baselines"].push_back({{"name", b.name}, {"timing", to_json(b.timing)}});
  json["speedups"] = Json::object();  // read back from timing and baselines
  for (const auto& b : verdict.baselines)
    if (auto s = verdict.speedup(b.name)) json["speedups"][b.name] = *s;
  json["speedup_ci95"] =
      verdict.speedup_ci95 ? Json{verdict.speedup_ci95->low, verdict.speedup_ci95->high} : Json();
  json["conditions"] = verdict.conditions ? to_json(*verdict.conditions) : Json();
  json["energy"] = verdict.energy ? to_json(*verdict.energy) : Json();
  json["deterministic"] = verdict.deterministic;
  json["build"] = verdict.build ? to_json(*verdict.build) : Json();
  json["stages"] = Json::array();
  for (const auto& [name, seconds] : verdict.stages) json["stages"].push_back({name, seconds});
  return json;
}

Result<Verdict> verdict_from_json(const Json& json) {
  Verdict verdict;
  KP_ASSIGN(std::string outcome, get_string(json, "outcome", "verdict"));
  KP_ASSIGN(verdict.outcome, parse_outcome(outcome));
  verdict.reason = string_or(json, "reason", "");
  verdict.detail = string_or(json, "detail", "");
  verdict.seeds = static_cast<int>(int_or(json, "seeds", 0));
  verdict.accuracy_class = string_or(json, "accuracy_class", "");
  for (const auto& leaf : list_of(json, "leaves"))
    verdict.leaves.push_back(leaf_error_from_json(leaf));
  const Json timing = json.value("timing", Json());
  if (timing.is_object()) verdict.timing = timing_from_json(timing);
  for (const auto& t : list_of(json, "timings")) verdict.timings.push_back(timing_from_json(t));
  for (const auto& b : list_of(json, "baselines"))
    verdict.baselines.push_back(
        {string_or(b, "name", ""), timing_from_json(b.value("timing", Json()))});
  verdict.speedup_ci95 = interval_from_json(json.value("speedup_ci95", Json()));
  if (const Json c = json.value("conditions", Json()); c.is_object())
    verdict.conditions = conditions_from_json(c);
  if (const Json e = json.value("energy", Json()); e.is_object())
    verdict.energy = energy_from_json(e);
  verdict.deterministic = bool_or(json, "deterministic", true);
  const Json build = json.value("build", Json());
  if (build.is_object()) verdict.build = build_summary_from_json(build);
  for (const auto& stage : list_of(json, "stages"))
    if (stage.is_array() && stage.size() == 2 && stage[0].is_string() && stage[1].is_number())
      verdict.stages.emplace_back(stage[0].get<std::string>(), stage[1].get<double>());
  return verdict;
}

}  // namespace kp
