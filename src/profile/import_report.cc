// Reports that only Nsight's own programs can open.
#include <fmt/format.h>

#include "base/process.h"
#include "base/text.h"
#include "profile/ncu_log.h"
#include "profile/read.h"

namespace kp {

namespace {

constexpr double kMostSeconds = 300;

Result<std::string> output_of(std::vector<std::string> argv, const fs::path& report) {
  ProcessOptions options;
  std::string program = fs::path(argv[0]).filename().string();
  options.argv = std::move(argv);
  options.env["LC_ALL"] = "C";
  options.capture_stderr = true;
  KP_ASSIGN(ProcessOutput run, run_process(options, "", kMostSeconds));
  if (run.exit_code == 0 && !run.timed_out) return std::move(run.out);
  std::string log = run.out + "\n" + run.err;
  NcuTrouble trouble = ncu_trouble(log);
  std::string said = trouble.kind == NcuTrouble::Kind::none
                         ? std::string(trim(std::string_view(log).substr(0, 400)))
                         : trouble.message;
  return fail(fmt::format("{}: {} could not open it ({}): {}", report.string(), program,
                          run.how_it_ended(), said),
              fmt::format("a report opens only with a {} at least as new as the one that wrote it",
                          program));
}

}  // namespace

Result<NcuPages> import_ncu_report(const Toolkit& programs, const fs::path& report) {
  std::string path = fs::absolute(report).string();
  if (programs.ncu.empty())
    return fail(
        fmt::format("{}: is a report of Nsight Compute, which only ncu opens, and ncu was "
                    "not found here",
                    report.string()),
        "put ncu on PATH, or where it is installed: ncu --import FILE.ncu-rep --csv --page raw "
        "> FILE.csv, and give FILE.csv");
  NcuPages pages;
  KP_ASSIGN(pages.raw, output_of({programs.ncu, "--import", path, "--csv", "--page", "raw",
                                  "--print-units", "base"},
                                 report));
  auto source = output_of(
      {programs.ncu, "--import", path, "--csv", "--page", "source", "--print-source", "sass"},
      report);
  if (source) pages.source = std::move(*source);  // a report without SASS is no trouble
  return pages;
}

Status export_nsys_report(const Toolkit& programs, const fs::path& report, const fs::path& sqlite) {
  if (programs.nsys.empty())
    return fail(
        fmt::format("{}: is a report of Nsight Systems, which only nsys opens, and nsys was "
                    "not found here",
                    report.string()),
        "put nsys on PATH, or where it is installed: nsys export --type sqlite "
        "FILE.nsys-rep, and give FILE.sqlite");
  KP_TRY(output_of({programs.nsys, "export", "--type", "sqlite", "--force-overwrite", "true",
                    "--output", fs::absolute(sqlite).string(), fs::absolute(report).string()},
                   report));
  return {};
}

}  // namespace kp
