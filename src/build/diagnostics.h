#pragma once
// NVRTC's log → diagnostics, and resource lines of ptxas.
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "build/build.h"

namespace kp {

// `file` is the name that the candidate was compiled under. An error in a header gets a note with
// the candidate's line that led there, when the log names one.
std::vector<Diagnostic> parse_nvrtc_log(std::string_view log, std::string_view file);

struct Spills {
  std::uint32_t store_bytes = 0, load_bytes = 0;
};
// From "ptxas info" lines (-v), by symbol.
std::map<std::string, Spills> parse_spills(std::string_view log);

// "ptxas application ptx input, line 29; error": the PTX lines that such errors name.
std::vector<int> ptx_error_lines(std::string_view log);

// The candidate's line that `ptx_line` (from 1) came from, by the .loc directives of -lineinfo; 0
// when none says. `file` as above.
int source_line_of_ptx(std::string_view ptx, int ptx_line, std::string_view file);

}  // namespace kp
