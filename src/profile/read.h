#pragma once
// Readers of telemetry files that people already have. No GPU and no task are needed.
#include "base/files.h"
#include "build/toolkit.h"
#include "profile/profile.h"

namespace kp {

// ncu --csv --page raw (one row a launch, a units row) or --page details (one row a metric); lines
// before the header (progress, warnings, the program's own output) are passed over. A value that is
// no number is refused by name in `notes`, never read as another number.
Result<Profile> read_ncu_csv(std::string_view text, std::string_view name);

// ncu --csv --page source --print-source sass: SASS with per-instruction counters, per kernel.
Result<std::vector<SassSummary>> read_ncu_source(std::string_view text, std::string_view name);

// ncu's details or raw page as a terminal shows it.
Result<Profile> read_ncu_text(std::string_view text, std::string_view name);
bool is_ncu_text(std::string_view text);

// The tables of `nsys stats --format csv`: a Timeline, and its launches as kernels. Several tables
// in one text are told apart by their columns.
Result<Profile> read_nsys_csv(std::string_view text, std::string_view name);
bool is_nsys_csv(std::string_view text);

// An SQLite export of Nsight Systems.
Result<Profile> read_nsys_sqlite(const fs::path& path, std::string_view name);

// Launches of profile.timeline → profile.kernels, with their durations.
void add_kernels_of_timeline(Profile& profile, std::string_view name);

// A report of Nsight Compute or Nsight Systems → what their own programs make of it: ncu's raw page
// and its source page (the latter may be empty), nsys's SQLite file. `programs` says where these
// are.
struct NcuPages {
  std::string raw, source;
};
Result<NcuPages> import_ncu_report(const Toolkit& programs, const fs::path& report);
Status export_nsys_report(const Toolkit& programs, const fs::path& report, const fs::path& sqlite);

// Any of: the above, nvdisasm/cuobjdump text, a Profile of our own as JSON. What a file is, its
// content says; the Profile's `sources` tell it. Several files about the same kernels are merged
// into one Profile (by function name).
Result<Profile> read_profile_files(const std::vector<fs::path>& paths);

}  // namespace kp
