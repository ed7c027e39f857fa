#pragma once
// The oracle of native tasks: `kernelpro oracle TASK.toml`. The reference kernel, compiled with
// real = double, gives the truth; compiled as it is, it is the baseline.
#include <optional>
#include <string>

#include "task/task.h"

namespace kp {

struct NativeOracleOptions {
  std::string task;
  int device = 0;
  Precision precision = Precision::strict;  // used when the command line gave one
  bool precision_given = false;
  std::optional<Tolerance> tolerance;
  std::uint64_t init_seed = 0;  // parameters are drawn from it
  bool force = false;           // takes unfit tasks, with a note
};

int native_oracle_main(const NativeOracleOptions& options);

}  // namespace kp
