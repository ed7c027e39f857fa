#pragma once
// The events of a run as JSON (their members are listed in state.h), and what they carry back.
#include "search/state.h"
#include "search/world.h"

namespace kp {

// What is to be asked for next.
struct ProposalPlan {
  int iteration = 0;
  Act act = Act::seed;
  NodeId parent = kRoot;
  int directive = -1;
  double weight = 1;
};

Json asked_event(const std::string& call, const ProposalPlan& plan, const Prompt& prompt);
Json proposal_event(const std::string& call, const Reply& reply);
Json failed_event(std::string_view event, const Error& error);  // call_failed, environment_failed
Json diagnosed_event(NodeId node, const Diagnosis& diagnosis);
Json diagnosis_failed_event(NodeId node, const Error& error);
Json finished_event(const Finished& finished);

Json roofline_json(const Roofline& roofline);
Roofline roofline_from(const Json& json);
Json to_json(const Followed& followed);
std::optional<Followed> followed_from(const Json& json);  // null gives none
Result<Act> parse_act(std::string_view name);
Prompt prompt_from(const Json& json, Act act);

}  // namespace kp
