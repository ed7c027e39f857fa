#pragma once
// Contradictions and common causes among the findings of one kernel: what to keep, and why.
#include "directives/directive.h"

namespace kp {

struct Reconciled {
  Finding finding;
  std::vector<std::string> notes;  // why another finding was dropped for this one
};

// By assets/directives/reconcile.json; the order is kept, a merged gain is the sum of both savings.
std::vector<Reconciled> reconcile(const std::vector<Finding>& findings);

}  // namespace kp
