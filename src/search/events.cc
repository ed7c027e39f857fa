#include "search/events.h"

#include <fmt/format.h>

namespace kp {

Json asked_event(const std::string& call, const ProposalPlan& plan, const Prompt& prompt) {
  return {{"event", "asked"},
          {"call", call},
          {"iteration", plan.iteration},
          {"act", std::string(name_of(plan.act))},
          {"parent", plan.parent},
          {"directive", plan.directive},
          {"weight", plan.weight},
          {"prompt",
           {{"system", prompt.system},
            {"user", prompt.user},
            {"temperature", prompt.temperature},
            {"estimated_tokens", prompt.estimated_tokens},
            {"cut", prompt.cut}}}};
}

Prompt prompt_from(const Json& json, Act act) {
  Prompt prompt;
  prompt.act = act;
  prompt.system = string_or(json, "system", "");
  prompt.user = string_or(json, "user", "");
  prompt.temperature = double_or(json, "temperature", prompt.temperature);
  prompt.estimated_tokens = static_cast<int>(int_or(json, "estimated_tokens", 0));
  if (json.contains("cut") && json["cut"].is_array())
    for (const Json& cut : json["cut"])
      if (cut.is_string()) prompt.cut.push_back(cut.get<std::string>());
  return prompt;
}

Json proposal_event(const std::string& call, const Reply& reply) {
  return {{"event", "proposal"},
          {"call", call},
          {"reply",
           {{"text", reply.text},
            {"model", reply.model},
            {"tokens_in", reply.tokens_in},
            {"tokens_out", reply.tokens_out},
            {"seconds", reply.seconds}}}};
}

Json failed_event(std::string_view event, const Error& error) {
  return {{"event", std::string(event)}, {"message", error.message}, {"hint", error.hint}};
}

Json roofline_json(const Roofline& roofline) {
  return {{"bound", std::string(name_of(roofline.bound))},
          {"speed_of_light_ms", roofline.speed_of_light_ms},
          {"why", roofline.why}};
}

Roofline roofline_from(const Json& json) {
  Roofline roofline;
  std::string bound = string_or(json, "bound", "");
  for (BoundClass b : {BoundClass::memory, BoundClass::compute, BoundClass::latency})
    if (bound == name_of(b)) roofline.bound = b;
  roofline.speed_of_light_ms = double_or(json, "speed_of_light_ms", 0);
  roofline.why = string_or(json, "why", "");
  return roofline;
}

Json diagnosed_event(NodeId node, const Diagnosis& diagnosis) {
  Json directives = Json::array(), findings = Json::array(), skipped = Json::array();
  for (const Directive& d : diagnosis.directives) directives.push_back(to_json(d));
  for (const Finding& f : diagnosis.findings.findings) findings.push_back(to_json(f));
  for (const Skipped& s : diagnosis.findings.skipped)
    skipped.push_back({{"tool", s.tool}, {"kernel", s.kernel}, {"why", s.why}});
  return {{"event", "diagnosed"},
          {"node", node},
          {"directives", directives},
          {"roofline", roofline_json(diagnosis.profile.roofline)},
          {"findings", findings},
          {"skipped", skipped},
          {"profile", to_json(diagnosis.profile)}};
}

Json diagnosis_failed_event(NodeId node, const Error& error) {
  return {{"event", "diagnosed"}, {"node", node}, {"error", error.text()}};
}

Json finished_event(const Finished& finished) {
  return {{"event", "run_finished"},
          {"why", std::string(name_of(finished.why))},
          {"text", finished.text}};
}

Json to_json(const Followed& followed) {
  return {{"tool", followed.tool},
          {"cause", followed.cause},
          {"class", followed.bound},
          {"predicted", followed.predicted},
          {"realised", followed.realised ? Json(*followed.realised) : Json(nullptr)}};
}

std::optional<Followed> followed_from(const Json& json) {
  if (!json.is_object()) return std::nullopt;
  Followed followed;
  followed.tool = string_or(json, "tool", "");
  followed.cause = string_or(json, "cause", "");
  followed.bound = string_or(json, "class", "");
  followed.predicted = double_or(json, "predicted", 1);
  if (double realised = double_or(json, "realised", 0); realised > 0) followed.realised = realised;
  return followed;
}

Result<Act> parse_act(std::string_view name) {
  for (Act act : {Act::seed, Act::improve, Act::repair})
    if (name == name_of(act)) return act;
  return fail(fmt::format("act \"{}\" is unknown", name));
}

}  // namespace kp
