#pragma once
// The include directives of a candidate, found without running a preprocessor.
#include <string>
#include <string_view>
#include <vector>

#include "build/build.h"

namespace kp {

struct Include {
  std::string path;  // "cute/tensor.hpp"; empty when the operand is a macro
  int line = 0;
  bool after_define = false;  // a #define or #undef stands before it
};

// Comments, strings, raw strings, line splices and digraphs are seen as the compiler sees them.
std::vector<Include> find_includes(std::string_view source);

// A candidate must not read files of this machine into its diagnostics: absolute paths, "..",
// operands made by macros, and #embed are errors of the candidate, at their lines.
std::vector<Diagnostic> check_includes(std::string_view source);

// Our header that stands for a family of heavy headers which `source` uses ("kernelpro/cute.h"),
// for precompilation; empty for plain sources and for those that define macros before such headers.
std::string precompiled_prefix(std::string_view source);

}  // namespace kp
