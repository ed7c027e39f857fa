#pragma once
// Readers of telemetry files that people already have. No GPU and no task are needed.
#include "base/files.h"
#include "profile/profile.h"

namespace kp {

// ncu --csv --page raw (one row a launch, a units row) or --page details (one row a metric); lines
// before the header (progress, warnings, the program's own output) are passed over. A value that is
// no number is refused by name in `notes`, never read as another number.
Result<Profile> read_ncu_csv(std::string_view text, std::string_view name);

// ncu --csv --page source --print-source sass: SASS with per-instruction counters, per kernel.
Result<std::vector<SassSummary>> read_ncu_source(std::string_view text, std::string_view name);

// Any of: the above, nvdisasm/cuobjdump text. Several files about the same kernels are merged into
// one Profile (by function name).
Result<Profile> read_profile_files(const std::vector<fs::path>& paths);

}  // namespace kp
