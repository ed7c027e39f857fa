#pragma once
// What ncu says on its output when it cannot do what was asked.
#include <string>
#include <string_view>
#include <vector>

namespace kp {

struct NcuTrouble {
  enum class Kind {
    none,
    permission,
    busy,
    no_kernels,
    unknown_metrics,
    lock,
    other
  } kind = Kind::none;
  std::string message;  // what happened
  std::string hint;     // what to do
};

// The first trouble among ncu's messages ("==ERROR== ...", "==WARNING== No kernels ...").
NcuTrouble ncu_trouble(std::string_view output);

// Metric names that ncu did not know or could not access.
std::vector<std::string> unknown_metrics(std::string_view output);

}  // namespace kp
