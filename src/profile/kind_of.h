#pragma once
// What a file of telemetry is, by its content.
#include <string_view>

#include "base/files.h"

namespace kp {

enum class FileKind {
  ncu_raw,
  ncu_details,
  ncu_source,
  ncu_text,
  ncu_report,
  nsys_csv,
  nsys_sqlite,
  nsys_report,
  sass,
  profile_json,
  unknown
};

// In words for people: "Nsight Compute, raw page (CSV)".
std::string_view describe(FileKind kind);

// `text` is the whole file, or its first bytes where those tell enough (is_whole_needed).
FileKind kind_of(std::string_view text, const fs::path& path);

// False for files that another program or library opens: their first bytes are enough.
bool is_whole_needed(std::string_view start, const fs::path& path);

}  // namespace kp
