#include "findings/finding.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "base/text.h"

namespace kp {
namespace {

constexpr std::array<std::string_view, 3> kSeverities = {"low", "medium", "high"};

Result<Severity> parse_severity(std::string_view name) {
  for (std::size_t i = 0; i < kSeverities.size(); ++i) {
    if (name == kSeverities.at(i)) return static_cast<Severity>(i);
  }
  return fail(fmt::format("finding: severity \"{}\" is unknown", name),
              "it is one of low, medium, high");
}

// The object member `key`; missing or null gives an empty object.
Result<Json> get_object(const Json& json, const char* key) {
  auto it = json.find(key);
  if (it == json.end() || it->is_null()) return Json::object();
  if (!it->is_object()) return fail(fmt::format("finding: \"{}\" is no object", key));
  return *it;
}

}  // namespace

std::string_view name_of(Severity severity) {
  return kSeverities.at(static_cast<std::size_t>(severity));
}

Json to_json(const Finding& finding) {
  Json numbers = Json::object();
  for (const auto& [name, value] : finding.numbers) numbers[name] = value;
  Json words = Json::object();
  for (const auto& [name, value] : finding.words) words[name] = value;
  return {{"tool", finding.tool},
          {"cause", finding.cause},
          {"severity", name_of(finding.severity)},
          {"place",
           {{"kernel", finding.place.kernel},
            {"line", finding.place.line},
            {"sass", finding.place.sass}}},
          {"numbers", numbers},
          {"words", words},
          {"predicted_gain", finding.predicted_gain},
          {"gain_model", finding.gain_model},
          {"confidence", finding.confidence}};
}

Result<Finding> finding_from_json(const Json& json) {
  if (!json.is_object()) return fail("finding: no JSON object");
  Finding finding;
  KP_ASSIGN(finding.tool, get_string(json, "tool", "finding"));
  KP_ASSIGN(finding.cause, get_string(json, "cause", "finding"));
  KP_ASSIGN(std::string severity, get_string(json, "severity", "finding"));
  KP_ASSIGN(finding.severity, parse_severity(severity));
  KP_ASSIGN(Json place, get_object(json, "place"));
  finding.place.kernel = string_or(place, "kernel", "");
  finding.place.line = static_cast<int>(int_or(place, "line", 0));
  finding.place.sass = string_or(place, "sass", "");
  KP_ASSIGN(Json numbers, get_object(json, "numbers"));
  for (const auto& [name, value] : numbers.items()) {
    if (!value.is_number()) return fail(fmt::format("finding: numbers.{} is no number", name));
    finding.numbers[name] = value.get<double>();
  }
  KP_ASSIGN(Json words, get_object(json, "words"));
  for (const auto& [name, value] : words.items()) {
    if (!value.is_string()) return fail(fmt::format("finding: words.{} is no string", name));
    finding.words[name] = value.get<std::string>();
  }
  KP_ASSIGN(finding.predicted_gain, get_double(json, "predicted_gain", "finding"));
  KP_ASSIGN(finding.confidence, get_double(json, "confidence", "finding"));
  if (finding.predicted_gain < 1 || finding.confidence < 0 || finding.confidence > 1) {
    return fail(fmt::format("finding {}/{}: gain {} is under 1 or confidence {} is not in 0 to 1",
                            finding.tool, finding.cause, finding.predicted_gain,
                            finding.confidence));
  }
  finding.gain_model = string_or(json, "gain_model", "");
  return finding;
}

}  // namespace kp
