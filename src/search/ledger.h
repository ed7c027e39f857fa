#pragma once
// The ledger: what each tool promised, and what following it gave, by roofline class.
#include <optional>
#include <string>
#include <vector>

#include "search/options.h"

namespace kp {

// One child that followed a directive.
struct Followed {
  std::string tool;
  std::string cause;
  std::string bound;               // the parent's roofline class: memory | compute | latency
  double predicted = 1;            // as the directive said, before calibration
  std::optional<double> realised;  // parent's time over the child's; none when the child broke
};

struct LedgerRow {
  std::string tool;
  std::string bound;
  int followed = 0;
  int measured = 0;         // of those, children that ran correctly
  double log_ratio = 0;     // sum over those of log(realised / predicted)
  double log_realised = 0;  // sum over those of log(realised)
};

class Ledger {
 public:
  void record(const Followed& followed);
  // In order of first use.
  const std::vector<LedgerRow>& rows() const { return rows_; }
  // Predicted gain times the geometric mean of realised / predicted of this tool so far, drawn
  // towards 1 by options.ledger_trust imagined followers; never below 1.
  double calibrated(const std::string& tool, double predicted, const SearchOptions& options) const;

 private:
  std::vector<LedgerRow> rows_;
};

}  // namespace kp
