#include "directives/directive.h"

#include <fmt/format.h>

#include <algorithm>

#include "directives/reconcile.h"
#include "directives/words.h"

namespace kp {

std::vector<Directive> make_directives(const Findings& findings, int at_most) {
  std::vector<Reconciled> all = reconcile(findings.findings);
  auto worth = [](const Reconciled& r) {
    return (r.finding.predicted_gain - 1) * r.finding.confidence;
  };
  std::stable_sort(all.begin(), all.end(),
                   [&](const Reconciled& a, const Reconciled& b) { return worth(a) > worth(b); });
  if (all.size() > static_cast<std::size_t>(std::max(0, at_most))) {
    all.erase(all.begin() + std::max(0, at_most), all.end());
  }

  std::vector<Directive> directives;
  for (const Reconciled& reconciled : all) {
    const Finding& finding = reconciled.finding;
    Words words = words_of(finding);
    for (const std::string& note : reconciled.notes) words.text += "\n**Note**: " + note;
    directives.push_back({fmt::format("d{}", directives.size() + 1), finding.tool, finding.cause,
                          finding.place.kernel, words.title, words.text, finding.predicted_gain,
                          finding.confidence});
  }
  return directives;
}

Json to_json(const Directive& directive) {
  return {{"id", directive.id},
          {"tool", directive.tool},
          {"cause", directive.cause},
          {"kernel", directive.kernel},
          {"title", directive.title},
          {"text", directive.text},
          {"predicted_gain", directive.predicted_gain},
          {"confidence", directive.confidence}};
}

Result<Directive> directive_from_json(const Json& json) {
  if (!json.is_object()) return fail("directive: no JSON object");
  Directive directive;
  KP_ASSIGN(directive.id, get_string(json, "id", "directive"));
  KP_ASSIGN(directive.tool, get_string(json, "tool", "directive"));
  KP_ASSIGN(directive.cause, get_string(json, "cause", "directive"));
  KP_ASSIGN(directive.kernel, get_string(json, "kernel", "directive"));
  KP_ASSIGN(directive.title, get_string(json, "title", "directive"));
  KP_ASSIGN(directive.text, get_string(json, "text", "directive"));
  KP_ASSIGN(directive.predicted_gain, get_double(json, "predicted_gain", "directive"));
  KP_ASSIGN(directive.confidence, get_double(json, "confidence", "directive"));
  return directive;
}

}  // namespace kp
