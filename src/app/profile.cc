// kernelpro profile TASK [CANDIDATE], kernelpro profile FILE...
#include <fmt/format.h>

#include <memory>

#include "app/commands.h"
#include "app/profiling.h"
#include "app/task_options.h"
#include "base/text.h"
#include "profile/read.h"
#include "profile/roofline.h"
#include "report/text.h"
#include "task/native.h"

namespace kp {

namespace {

struct ProfileCommand {
  TaskOptions task;
  std::vector<std::string> more;  // a candidate, or further files
  int directives = 5;
  bool json = false;
};

bool is_task(std::string_view path) {
  return ends_with(path, ".py") || ends_with(path, ".toml");
}

int show(const ProfileCommand& command, const Profile& profile) {
  Findings findings = run_tools(profile, all_tools());
  std::vector<Directive> directives = make_directives(findings, command.directives);
  if (!command.json) {
    for (const std::string& source : profile.sources) fmt::print("read {}\n", source);
    fmt::print("{}\n", describe(profile, findings, directives));
    return kExitOk;
  }
  Json found = Json::array();
  for (const auto& f : findings.findings) found.push_back(to_json(f));
  Json skipped = Json::array();
  for (const auto& s : findings.skipped)
    skipped.push_back({{"tool", s.tool}, {"kernel", s.kernel}, {"why", s.why}});
  Json told = Json::array();
  for (const auto& d : directives) told.push_back(to_json(d));
  print_json({{"profile", to_json(profile)},
              {"findings", found},
              {"skipped", skipped},
              {"directives", told}});
  return kExitOk;
}

Result<int> profile_files(const ProfileCommand& command) {
  std::vector<fs::path> paths = {command.task.task};
  paths.insert(paths.end(), command.more.begin(), command.more.end());
  KP_ASSIGN(Profile profile, read_profile_files(paths));
  add_measurement(profile);
  return show(command, profile);
}

// The candidate that was named, or a native task's own reference.
Result<Candidate> candidate_of(const ProfileCommand& command, const Task& task) {
  if (!command.more.empty()) return load_candidate(command.more.front());
  if (task.kind == TaskKind::native) {
    KP_ASSIGN(fs::path path, native_reference_path(task));
    return load_candidate(path);
  }
  return fail("profile of a .py task needs a candidate",
              "kernelpro profile " + command.task.task + " CANDIDATE.cu");
}

Result<int> profile_task(const ProfileCommand& command) {
  TaskOptions options = command.task;
  options.seeds = 1;
  if (command.more.size() > 1) return fail("profile takes one candidate with a task");
  KP_ASSIGN(Evaluator evaluator, start_evaluator(options, {}, true));
  KP_ASSIGN(Candidate candidate, candidate_of(command, evaluator.task()));
  if (!options.quiet) show_progress("  verifying ...");
  KP_ASSIGN(Verdict verdict, evaluator.evaluate(candidate));
  clear_progress();
  if (!verdict.correct()) {
    fmt::print(stderr, "{}: {}\n", candidate.name, describe(verdict, 0));
    return kExitNotCorrect;
  }
  KP_ASSIGN(Ceilings ceilings, device_ceilings(evaluator.runner()));
  if (!options.quiet) show_progress("  profiling ...");
  auto profile = profile_candidate(evaluator, find_toolkit(), ceilings, candidate, *verdict.build);
  clear_progress();
  if (!profile) return tl::make_unexpected(profile.error());
  if (!command.json) fmt::print("{}: {}\n", candidate.name, describe(verdict, 0));
  return show(command, *profile);
}

}  // namespace

void add_profile_command(CLI::App& app, int& exit_code) {
  auto command = std::make_shared<ProfileCommand>();
  CLI::App* sub = app.add_subcommand(
      "profile", "Say what is wrong with a kernel: on a task, or from recorded telemetry files");
  add_task_options(*sub, command->task, "TASK_OR_FILE");
  sub->add_option(
      "CANDIDATE_OR_FILES", command->more,
      "a candidate of the task; or more files (pages and reports of ncu and nsys, SASS)");
  sub->add_option("--directives", command->directives, "how many to print")->capture_default_str();
  sub->add_flag("--json", command->json, "as JSON on stdout");
  sub->callback([command, &exit_code] {
    auto done = is_task(command->task.task) ? profile_task(*command) : profile_files(*command);
    exit_code = done ? *done : report_error(done.error(), command->json);
  });
}

}  // namespace kp
