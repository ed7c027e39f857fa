#pragma once
// Values of one launch by their ncu names → metrics of a KernelProfile. What is refused is noted.
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "profile/number.h"
#include "profile/profile.h"

namespace kp {

struct NcuCell {
  std::string unit, text;
};
using NcuCells = std::map<std::string, std::vector<NcuCell>, std::less<>>;

// Refused values, said once for each counter and reason.
class Refusals {
 public:
  void add(const std::string& what, const std::string& why, const std::string& where);
  // "a.csv: dram_gbs: dram__bytes.sum.per_second is "n/a", which is no number (first in f (launch
  // 0), 3 times)".
  std::vector<std::string> notes(std::string_view file) const;

 private:
  std::map<std::pair<std::string, std::string>, std::pair<std::string, int>> seen_;
};

bool is_known_to_ncu(std::string_view name);  // a counter or a display name of the metric table

// `where` names the launch, for notes.
void fill_metrics(KernelProfile& kernel, const NcuCells& cells, NumberStyle style,
                  const std::string& where, Refusals& refusals);

}  // namespace kp
