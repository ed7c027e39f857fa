#include "profile/collect.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/process.h"
#include "base/text.h"
#include "profile/ncu_log.h"
#include "profile/read.h"
#include "profile/roofline.h"

namespace kp {

namespace {

// ncu stops at the first name that it does not know, so a few rounds may be needed.
constexpr int kMostRounds = 8;

bool is_unknown(std::string_view counter, const std::vector<std::string>& unknown) {
  return std::any_of(unknown.begin(), unknown.end(), [&](const std::string& u) {
    return counter == u || (starts_with(counter, u) && counter[u.size()] == '.');
  });
}

// Characters with a meaning in a regular expression, escaped.
std::string regex_escaped(std::string_view name) {
  std::string out;
  for (char c : name) {
    if (std::string_view("\\^$.|?*+()[]{}").find(c) != std::string_view::npos) out.push_back('\\');
    out.push_back(c);
  }
  return out;
}

std::string note_of(const NcuTrouble& trouble) {
  return trouble.hint.empty() ? trouble.message : trouble.message + "; " + trouble.hint;
}

}  // namespace

std::vector<std::string> ncu_command(const std::string& ncu, const CollectRequest& request,
                                     const std::vector<std::string>& unknown) {
  std::vector<std::string> counters;
  for (Metric metric : request.metrics) {
    const auto& names = info_of(metric).counters;
    auto it = std::find_if(names.begin(), names.end(),
                           [&](std::string_view c) { return !is_unknown(c, unknown); });
    if (it == names.end()) continue;
    if (std::find(counters.begin(), counters.end(), *it) == counters.end())
      counters.emplace_back(*it);
  }
  if (counters.empty()) return {};
  std::vector<std::string> argv = {ncu,
                                   "--csv",
                                   "--page",
                                   "raw",
                                   "--print-units",
                                   "base",
                                   "--metrics",
                                   join(counters, ","),
                                   "--clock-control",
                                   "none",
                                   "--target-processes",
                                   "all"};
  if (!request.kernels.empty()) {
    std::vector<std::string> names;
    for (const std::string& k : request.kernels) names.push_back(regex_escaped(k));
    argv.insert(argv.end(), {"--kernel-name", "regex:^(" + join(names, "|") + ")$"});
  }
  if (request.launch_skip > 0)
    argv.insert(argv.end(), {"--launch-skip", std::to_string(request.launch_skip)});
  if (request.launch_count > 0)
    argv.insert(argv.end(), {"--launch-count", std::to_string(request.launch_count)});
  argv.insert(argv.end(), request.command.begin(), request.command.end());
  return argv;
}

Result<Profile> collect_ncu(const Toolkit& toolkit, const CollectRequest& request) {
  KP_CHECK(!request.command.empty());
  Profile profile;
  auto give_up = [&](std::string note) {
    profile.notes.push_back("no counters: " + std::move(note));
    return profile;
  };
  if (toolkit.ncu.empty())
    return give_up(
        "Nsight Compute (ncu) was not found; install the CUDA toolkit's nsight-compute package or "
        "put ncu on PATH");
  if (request.metrics.empty()) return give_up("no metric was asked for");
  std::vector<std::string> unknown;
  Stopwatch watch;
  for (int round = 0; round < kMostRounds; ++round) {
    ProcessOptions options;
    options.argv = ncu_command(toolkit.ncu, request, unknown);
    if (options.argv.empty()) return give_up("this Nsight Compute knows none of the metrics");
    options.env["LC_ALL"] = "C";
    options.capture_stderr = true;
    auto run = run_process(options, "", request.timeout_s - watch.seconds());
    if (!run) return give_up(run.error().message);
    std::string log = run->out + "\n" + run->err;
    if (run->timed_out)
      return give_up(fmt::format(
          "Nsight Compute did not end within {:.4g} s and was killed; ask for fewer metrics or "
          "give it more time",
          request.timeout_s));
    NcuTrouble trouble = ncu_trouble(log);
    if (trouble.kind == NcuTrouble::Kind::unknown_metrics) {
      std::size_t before = unknown.size();
      for (std::string& name : unknown_metrics(log)) {
        if (is_unknown(name, unknown)) continue;
        profile.notes.push_back(fmt::format("{} is unknown to this Nsight Compute", name));
        unknown.push_back(std::move(name));
      }
      if (unknown.size() > before) continue;
    }
    auto read = read_ncu_csv(run->out, "ncu");
    if (!read) {
      if (trouble.kind == NcuTrouble::Kind::none)
        return give_up(fmt::format("Nsight Compute ended with {} and gave no table: {}",
                                   run->how_it_ended(), trim(log.substr(0, 400))));
      return give_up(note_of(trouble));
    }
    if (trouble.kind != NcuTrouble::Kind::none) profile.notes.push_back(note_of(trouble));
    read->notes.insert(read->notes.begin(), profile.notes.begin(), profile.notes.end());
    return read;
  }
  return give_up(
      fmt::format("Nsight Compute still named an unknown metric after {} tries", kMostRounds));
}

Result<std::vector<SassSummary>> disassemble(const Toolkit& toolkit, const fs::path& cubin) {
  constexpr double kTimeout = 60;
  std::vector<std::vector<std::string>> commands;
  if (!toolkit.nvdisasm.empty()) {
    // -gi: lines with the places of inlined code; older ones or cubins without lines may refuse.
    for (const char* lines : {"-gi", "-g", ""}) {
      std::vector<std::string> argv = {toolkit.nvdisasm, "-c"};
      if (*lines != '\0') argv.emplace_back(lines);
      argv.push_back(cubin.string());
      commands.push_back(std::move(argv));
    }
  }
  if (!toolkit.cuobjdump.empty()) commands.push_back({toolkit.cuobjdump, "-sass", cubin.string()});
  if (commands.empty())
    return fail("neither nvdisasm nor cuobjdump was found: the machine code cannot be read",
                "install the CUDA toolkit, or: pip install nvidia-cuda-nvdisasm");
  std::error_code ec;
  if (!fs::exists(cubin, ec)) return fail(fmt::format("{}: no such file", cubin.string()));
  std::string last;
  for (const auto& argv : commands) {
    ProcessOptions options;
    options.argv = argv;
    options.capture_stderr = true;
    auto run = run_process(options, "", kTimeout);
    if (!run) {
      last = run.error().message;
    } else if (run->exit_code != 0 || run->timed_out) {
      last = fmt::format("{}: {}: {}", argv[0], run->how_it_ended(), trim(run->err));
    } else if (auto functions = parse_sass(run->out)) {
      return functions;
    } else {
      last = fmt::format("{}: {}", argv[0], functions.error().message);
    }
  }
  return fail(fmt::format("{}: cannot be disassembled: {}", cubin.string(), last));
}

}  // namespace kp
