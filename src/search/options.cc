#include "search/options.h"

#include <fmt/format.h>

namespace kp {

namespace {

// Lists every member once: to_json and from_json cannot drift apart.
template <class Options, class Visit>
void each_int(Options& o, Visit visit) {
  visit("seeds", o.seeds);
  visit("candidates", o.candidates);
  visit("repairs_per_node", o.repairs_per_node);
  visit("broken_in_a_row", o.broken_in_a_row);
  visit("no_gain_visits", o.no_gain_visits);
  visit("failures_in_a_row", o.failures_in_a_row);
  visit("prompt_tokens", o.prompt_tokens);
  visit("attempts_shown", o.attempts_shown);
}

template <class Options, class Visit>
void each_double(Options& o, Visit visit) {
  visit("improve_temperature", o.improve_temperature);
  visit("repair_temperature", o.repair_temperature);
  visit("exploration", o.exploration);
  visit("best_share", o.best_share);
  visit("broken_prior", o.broken_prior);
  visit("widen_c_correct", o.widen_c_correct);
  visit("widen_alpha_correct", o.widen_alpha_correct);
  visit("widen_c_broken", o.widen_c_broken);
  visit("widen_alpha_broken", o.widen_alpha_broken);
  visit("min_gain", o.min_gain);
  visit("assumed_speed_of_light", o.assumed_speed_of_light);
  visit("least_speed_of_light", o.least_speed_of_light);
  visit("ledger_trust", o.ledger_trust);
}

}  // namespace

Json to_json(const Budget& budget) {
  return {
      {"iterations", budget.iterations}, {"tokens", budget.tokens}, {"minutes", budget.minutes}};
}

Budget budget_from_json(const Json& json) {
  Budget budget;
  budget.iterations = static_cast<int>(int_or(json, "iterations", budget.iterations));
  budget.tokens = int_or(json, "tokens", budget.tokens);
  budget.minutes = double_or(json, "minutes", budget.minutes);
  return budget;
}

Json to_json(const SearchOptions& options) {
  Json json = {{"budget", to_json(options.budget)},
               {"seed_temperatures", options.seed_temperatures}};
  auto put = [&](const char* name, const auto& value) { json[name] = value; };
  each_int(options, put);
  each_double(options, put);
  return json;
}

SearchOptions search_options_from_json(const Json& json) {
  SearchOptions options;
  if (!json.is_object()) return options;
  if (json.contains("budget")) options.budget = budget_from_json(json["budget"]);
  if (json.contains("seed_temperatures") && json["seed_temperatures"].is_array()) {
    options.seed_temperatures.clear();
    for (const Json& t : json["seed_temperatures"])
      if (t.is_number()) options.seed_temperatures.push_back(t.get<double>());
  }
  each_int(options, [&](const char* name, int& value) {
    value = static_cast<int>(int_or(json, name, value));
  });
  each_double(options,
              [&](const char* name, double& value) { value = double_or(json, name, value); });
  return options;
}

Status check_options(const SearchOptions& options) {
  auto bad = [](std::string_view what, std::string_view why) {
    return fail(fmt::format("search options: {} {}", what, why));
  };
  if (options.seeds < 0) return bad("seeds", "must not be negative");
  if (options.seed_temperatures.empty()) return bad("seed_temperatures", "must not be empty");
  for (double t : options.seed_temperatures)
    if (!(t >= 0 && t <= 2)) return bad("seed_temperatures", "must lie between 0 and 2");
  if (options.candidates < 1) return bad("candidates", "must be at least 1");
  if (options.budget.iterations < 0) return bad("iterations", "must not be negative");
  if (options.budget.tokens < 0) return bad("tokens", "must not be negative");
  if (!(options.budget.minutes >= 0)) return bad("minutes", "must not be negative");
  if (options.failures_in_a_row < 1) return bad("failures_in_a_row", "must be at least 1");
  if (options.repairs_per_node < 0) return bad("repairs_per_node", "must not be negative");
  if (!(options.best_share >= 0 && options.best_share <= 1))
    return bad("best_share", "must lie between 0 and 1");
  if (!(options.least_speed_of_light > 1)) return bad("least_speed_of_light", "must be above 1");
  if (!(options.widen_c_correct > 0 && options.widen_c_broken >= 0))
    return bad("widen_c_correct and widen_c_broken", "must be positive");
  return {};
}

}  // namespace kp
