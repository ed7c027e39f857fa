#include "verdict/sanitizer.h"

#include <fmt/format.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/process.h"
#include "base/text.h"

namespace kp {

namespace {

std::vector<std::string> command_of(const std::string& program, const std::string& tool,
                                    const fs::path& log, const fs::path& once) {
  std::vector<std::string> argv = {program,
                                   "--tool",
                                   tool,
                                   "--log-file",
                                   log.string(),  // not stdout: kernels print there
                                   "--show-backtrace",
                                   "no",
                                   "--print-limit",
                                   "50"};
  // The worker asks for a parameter past the last one to count them: an API error that is none.
  if (tool == "memcheck") argv.insert(argv.end(), {"--report-api-errors", "no"});
  argv.insert(argv.end(), {own_program().string(), "worker", "--once", once.string()});
  return argv;
}

constexpr std::int64_t kMostInputs = std::int64_t{4} << 30;

// initcheck takes memory of other processes for uninitialised, and copies of it as well: the inputs
// come from files then. Returns why that cannot be done; empty when it was.
Result<std::string> inputs_by_files(const SanitizeRequest& request, const fs::path& folder,
                                    Json& once) {
  std::int64_t bytes = 0;
  for (const auto& tensor : once.value("tensors", Json::array()))
    bytes += int_or(tensor, "bytes", 0);
  if (bytes > kMostInputs)
    return fmt::format("not run: inputs of {:.1f} GiB are too many to hand over by files",
                       static_cast<double>(bytes) / (1 << 30));
  fs::path inputs = folder / "inputs";
  KP_TRY(make_folder(inputs));
  Json dump = once;
  dump["inputs_to"] = inputs.string();
  fs::path file = folder / "inputs.json";
  KP_TRY(write_file(file, dump_json(dump)));
  ProcessOptions options;
  options.argv = {own_program().string(), "worker", "--once", file.string()};
  options.capture_stderr = true;
  KP_ASSIGN(ProcessOutput process, run_process(options, "", request.timeout_s));
  if (process.exit_code != 0)
    return fmt::format("not run: the inputs could not be written to files ({}: {})",
                       process.how_it_ended(), trim(process.err));
  once["inputs_from"] = inputs.string();
  return std::string();
}

Result<SanitizerRun> run_tool(const Toolkit& toolkit, const SanitizeRequest& request,
                              const std::string& tool) {
  KP_ASSIGN(TempFolder folder, TempFolder::make("kernelpro-sanitize"));
  fs::path once = folder.path() / "once.json";
  fs::path log = folder.path() / "log.txt";
  fs::path proof_file = folder.path() / "proof.json";
  Json json = request.once;
  json["proof"] = proof_file.string();
  // A fill counts as initialisation and would hide every read of memory that nobody wrote. Outputs
  // are filled all the same, to see that they were written; verification reads them on poison.
  SanitizerRun run;
  run.tool = tool;
  Stopwatch watch;
  if (tool == "initcheck") {
    json["fill"] = "outputs";
    KP_ASSIGN(run.note, inputs_by_files(request, folder.path(), json));
    if (!run.note.empty()) return run;
  }
  KP_TRY(write_file(once, dump_json(json)));

  ProcessOptions options;
  options.argv = command_of(toolkit.compute_sanitizer, tool, log, once);
  options.env["LC_ALL"] = "C";
  options.capture_stderr = true;
  auto process = run_process(options, "", request.timeout_s);
  if (!process) {
    run.note = process.error().message;
    return run;
  }
  if (process->timed_out) {
    run.note =
        fmt::format("{} did not end within {:.4g} s and was killed", tool, request.timeout_s);
  } else {
    std::optional<OnceProof> proof;
    if (auto text = read_file(proof_file))
      if (auto parsed = parse_json(*text, "proof"))
        if (auto read = once_proof_from_json(*parsed)) proof = *read;
    run = read_sanitizer_log(tool, read_file(log).value_or(""), proof ? &*proof : nullptr);
    std::string said(trim(process->err));
    if (run.status == SanitizerRun::Status::failed && !said.empty())
      run.note += fmt::format(" ({}: {})", process->how_it_ended(), said.substr(0, 300));
  }
  run.seconds = watch.seconds();
  return run;
}

Json to_json(const SanitizerIssue& issue) {
  return {{"what", issue.what},      {"kernel", issue.kernel}, {"file", issue.file},
          {"line", issue.line},      {"detail", issue.detail}, {"times", issue.times},
          {"warning", issue.warning}};
}

}  // namespace

std::string_view name_of(SanitizerRun::Status status) {
  switch (status) {
    case SanitizerRun::Status::clean:
      return "clean";
    case SanitizerRun::Status::issues:
      return "issues";
    case SanitizerRun::Status::failed:
      return "failed";
  }
  KP_CHECK(!"status has a name");
}

bool SanitizerReport::clean() const {
  for (const auto& run : runs)
    if (run.status != SanitizerRun::Status::clean) return false;
  return !runs.empty();
}

bool SanitizerReport::issues() const {
  for (const auto& run : runs)
    if (run.status == SanitizerRun::Status::issues) return true;
  return false;
}

Json to_json(const OnceProof& proof) {
  return {{"launches", proof.launches}, {"outputs_written", proof.outputs_written}};
}

Result<OnceProof> once_proof_from_json(const Json& json) {
  OnceProof proof;
  KP_ASSIGN(std::int64_t launches, get_int(json, "launches", "proof"));
  proof.launches = static_cast<int>(launches);
  proof.outputs_written = bool_or(json, "outputs_written", false);
  return proof;
}

Result<SanitizerReport> sanitize(const Toolkit& toolkit, const SanitizeRequest& request) {
  SanitizerReport report;
  for (const auto& tool : request.tools) {
    if (toolkit.compute_sanitizer.empty()) {
      SanitizerRun run;
      run.tool = tool;
      run.note = "compute-sanitizer was not found; it comes with the CUDA toolkit";
      report.runs.push_back(std::move(run));
      continue;
    }
    KP_ASSIGN(SanitizerRun run, run_tool(toolkit, request, tool));
    report.runs.push_back(std::move(run));
  }
  return report;
}

Json to_json(const SanitizerReport& report) {
  Json runs = Json::array();
  for (const auto& run : report.runs) {
    Json issues = Json::array();
    for (const auto& issue : run.issues) issues.push_back(to_json(issue));
    runs.push_back({{"tool", run.tool},
                    {"status", name_of(run.status)},
                    {"note", run.note},
                    {"launches", run.launches},
                    {"seconds", run.seconds},
                    {"issues", issues}});
  }
  return {{"clean", report.clean()}, {"runs", runs}};
}

}  // namespace kp
