#include "profile/kind_of.h"

#include "base/text.h"
#include "profile/csv.h"
#include "profile/read.h"
#include "profile/sqlite_file.h"

namespace kp {

namespace {

bool is_binary(std::string_view start) {
  bool utf16 = starts_with(start, "\xff\xfe") || starts_with(start, "\xfe\xff");
  return !utf16 && contains(start.substr(0, 4096), std::string_view("\0", 1));
}

// Reports that only their own programs open. Those of nsys have no sign at their start that is
// documented, so a binary file is one by its name alone.
FileKind report_kind(std::string_view start, const fs::path& path) {
  std::string extension = path.extension().string();
  if (starts_with(start, "NVR") || (is_binary(start) && extension == ".ncu-rep"))
    return FileKind::ncu_report;
  if (is_binary(start) && (extension == ".nsys-rep" || extension == ".qdrep"))
    return FileKind::nsys_report;
  return FileKind::unknown;
}

FileKind kind_of_text(std::string_view text) {
  bool source = false;
  for (std::string_view line : lines_of(text)) {
    std::string_view bare = without_bom(line);
    bool table = starts_with(bare, "\"ID\",") || starts_with(bare, "ID,");
    if (table && contains(bare, "Kernel Name"))
      return contains(bare, "Metric Name") ? FileKind::ncu_details : FileKind::ncu_raw;
    if (starts_with(bare, "\"Kernel Name\",") || starts_with(bare, "Kernel Name,")) source = true;
    if (source && contains(line, "Address") && contains(line, "Source"))
      return FileKind::ncu_source;
    std::string_view s = trim(line);
    if (starts_with(s, "Function :") || (starts_with(s, ".section") && contains(s, ".text.")))
      return FileKind::sass;
  }
  if (is_ncu_text(text)) return FileKind::ncu_text;
  return is_nsys_csv(text) ? FileKind::nsys_csv : FileKind::unknown;
}

}  // namespace

std::string_view describe(FileKind kind) {
  switch (kind) {
    case FileKind::ncu_raw:
      return "Nsight Compute, raw page (CSV)";
    case FileKind::ncu_details:
      return "Nsight Compute, details page (CSV)";
    case FileKind::ncu_source:
      return "Nsight Compute, source page (CSV)";
    case FileKind::ncu_text:
      return "Nsight Compute, page of a terminal";
    case FileKind::ncu_report:
      return "Nsight Compute, report";
    case FileKind::nsys_csv:
      return "Nsight Systems, stats (CSV)";
    case FileKind::nsys_sqlite:
      return "Nsight Systems, SQLite export";
    case FileKind::nsys_report:
      return "Nsight Systems, report";
    case FileKind::sass:
      return "SASS, disassembled";
    case FileKind::profile_json:
      return "profile of kernelpro (JSON)";
    default:
      return "unknown";
  }
}

bool is_whole_needed(std::string_view start, const fs::path& path) {
  return !is_sqlite(start) && report_kind(start, path) == FileKind::unknown;
}

FileKind kind_of(std::string_view text, const fs::path& path) {
  if (is_sqlite(text)) return FileKind::nsys_sqlite;
  if (FileKind report = report_kind(text.substr(0, 4096), path); report != FileKind::unknown)
    return report;
  if (starts_with(trim(without_bom(text).substr(0, 4096)), "{")) return FileKind::profile_json;
  return kind_of_text(text);
}

}  // namespace kp
