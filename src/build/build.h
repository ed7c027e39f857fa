#pragma once
// Build: candidate → cubin, resource use and diagnostics, through NVRTC in a process that can be
// killed, behind a content-addressed cache.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "candidate/candidate.h"
#include "candidate/resolve.h"

namespace kp {

struct Diagnostic {
  enum class Severity { error, warning, note } severity = Severity::error;
  int line = 0;      // in the candidate's own file; 0 when it has no place there
  int column = 0;    // 0 when unknown (NVRTC gives none)
  std::string file;  // empty: the candidate; else a header
  std::string message;
};

struct KernelResources {
  KernelParams params;            // name, parameter table, launch bound, static shared memory
  std::string symbol;             // in the cubin; differs from params.kernel unless extern "C"
  std::uint32_t registers = 0;    // per thread
  std::uint32_t stack_bytes = 0;  // local memory a thread: spills and arrays
  std::uint32_t spill_store_bytes = 0;
  std::uint32_t spill_load_bytes = 0;
  std::uint32_t barriers = 0;
  std::uint32_t required_cluster[3] = {};  // of __cluster_dims__; 0: free
};

struct Build {
  bool ok = false;
  std::string key;   // SHA-256 of everything that decides the result
  std::string arch;  // "sm_90a"
  fs::path cubin;    // in the cache; stays valid
  std::vector<KernelResources> kernels;
  std::vector<Diagnostic> diagnostics;
  std::string log;     // the compiler's, complete
  double seconds = 0;  // 0.00x when it came from the cache
  bool cached = false;
  bool timed_out = false;  // then ok is false: the candidate's fault
  std::string source;      // the candidate's, for describe_diagnostics
  std::string
      precompiled;  // header that was used precompiled: "used", "created", else "" or why not
};

struct BuildOptions {
  std::string arch = "sm_90a";
  std::vector<std::string> defines;  // "real=double"
  bool line_info = true;             // -lineinfo: SASS to source lines
  double timeout_s = 120;
  fs::path cache;  // empty: cache_folder() / "build"
};

// Error only for what is not the candidate's fault (NVRTC missing, cache not writable).
Result<Build> build(const Candidate& candidate, const BuildOptions& options);

// The symbol of the kernel that a plan names; empty when there is none.
std::string symbol_of(const Build& build, std::string_view kernel);

// The first errors in words, each with its source line, for people and for the repair prompt.
std::string describe_diagnostics(const Build& build, int at_most);

Json to_json(const Build& build);

}  // namespace kp
