#pragma once
// compute-sanitizer over one run of a candidate: what it found, and the proof that it saw the run.
#include <string>
#include <string_view>
#include <vector>

#include "build/toolkit.h"
#include "verdict/verdict.h"

namespace kp {

// One kind of error at one place; what repeats is counted.
struct SanitizerIssue {
  std::string what;    // "Invalid __global__ write of size 4 bytes"
  std::string kernel;  // without its parameters; empty when none is named
  std::string file;
  int line = 0;        // 0 when unknown
  std::string detail;  // the rest of the report, joined by "; "
  int times = 1;
  bool warning = false;
};

// One tool's run.
struct SanitizerRun {
  enum class Status {
    clean,   // proven: the tool's summary says 0, and every launch of the plan was made under it
    issues,  // errors were found
    failed,  // no statement can be made: `note` says why
  };
  std::string tool;  // memcheck, racecheck, initcheck, synccheck
  Status status = Status::failed;
  std::string note;
  int launches = 0;  // kernel launches made under the tool
  std::vector<SanitizerIssue> issues;
  double seconds = 0;
};
std::string_view name_of(SanitizerRun::Status status);

struct SanitizerReport {
  std::vector<SanitizerRun> runs;
  bool clean() const;   // every tool ran and found nothing
  bool issues() const;  // some tool found an error
};

// What `kernelpro worker --once` writes into the file that its request names as "proof".
struct OnceProof {
  int launches = 0;
  bool outputs_written = false;
};
Result<OnceProof> once_proof_from_json(const Json& json);
Json to_json(const OnceProof& proof);

// What a log says. `proof` is null when the run did not come to its end.
SanitizerRun read_sanitizer_log(std::string_view tool, std::string_view log,
                                const OnceProof* proof);

struct SanitizeRequest {
  Json once;  // of `kernelpro worker --once`: device, tensors, load
  std::vector<std::string> tools = {"memcheck", "racecheck", "initcheck", "synccheck"};
  double timeout_s = 120;  // of each tool: instrumented kernels take 10 to 1000 times as long
};

// Runs the tools one after the other. What cannot be done is a failed run with a note.
Result<SanitizerReport> sanitize(const Toolkit& toolkit, const SanitizeRequest& request);

Json to_json(const SanitizerReport& report);

}  // namespace kp
