#include "search/ledger.h"

#include <algorithm>
#include <cmath>

namespace kp {

void Ledger::record(const Followed& followed) {
  auto row = std::find_if(rows_.begin(), rows_.end(), [&](const LedgerRow& r) {
    return r.tool == followed.tool && r.bound == followed.bound;
  });
  if (row == rows_.end()) {
    rows_.push_back({.tool = followed.tool, .bound = followed.bound});
    row = rows_.end() - 1;
  }
  ++row->followed;
  if (!followed.realised || !(*followed.realised > 0)) return;
  ++row->measured;
  row->log_realised += std::log(*followed.realised);
  row->log_ratio += std::log(*followed.realised / std::max(followed.predicted, 1.0));
}

double Ledger::calibrated(const std::string& tool, double predicted,
                          const SearchOptions& options) const {
  double sum = 0;
  int count = 0;
  for (const LedgerRow& row : rows_)
    if (row.tool == tool) {
      sum += row.log_ratio;
      count += row.measured;
    }
  if (count == 0) return std::max(predicted, 1.0);
  return std::max(1.0, predicted * std::exp(sum / (count + options.ledger_trust)));
}

}  // namespace kp
