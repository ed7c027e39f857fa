#pragma once
// The compile process: this program again (`kernelpro compile NVRTC [pch]`), so that a compilation
// which never ends or crashes the compiler is killed alone.
//
// In: one JSON document on stdin. Out: one JSON line on stdout, and kernel.cubin in the named
// folder.
#include <map>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"

namespace kp {

struct CompileRequest {
  std::string nvrtc;  // library to load
  std::string name, source;
  std::vector<std::string> options;
  std::vector<std::string> name_expressions;
  fs::path folder;  // empty: the process works in it. Its path stands in the debug information
  fs::path cubin;   // where to write it
  // A header to precompile (see pch.h); empty prefix: none.
  std::string pch_prefix, pch_stamp;
  fs::path pch_folder;
};

struct CompileReply {
  bool compiled = false;
  std::string status, log;
  std::map<std::string, std::string> symbols;  // name expression → symbol
  std::map<int, int> ptx_lines;                // line of the PTX in an error → candidate's line
  std::string precompiled;                     // "used", "created", else why not
  std::string nvrtc_version;
  bool crashed = false;  // the compiler itself
  bool timed_out = false;
  double seconds = 0;
};

// Runs the process with the deadline. Error: it could not start, or NVRTC cannot be loaded.
Result<CompileReply> run_compile_process(const CompileRequest& request, double timeout_s);

// The process's own main. Its arguments come from /proc/self/cmdline, so that whoever parses the
// command line needs no knowledge of them. Exit code 0 when it has answered.
int compile_process_main();

}  // namespace kp
