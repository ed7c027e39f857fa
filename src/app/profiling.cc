#include "app/profiling.h"

#include <algorithm>

#include "base/hash.h"
#include "profile/collect.h"
#include "profile/roofline.h"

namespace kp {

Result<Ceilings> device_ceilings(Runner& runner) {
  KP_ASSIGN(DeviceInfo device, runner.device());
  std::string key = sha256_hex(device.name + device.uuid + device.driver).substr(0, 16);
  fs::path file = cache_folder() / "ceilings" / (key + ".json");
  if (auto text = read_file(file)) {
    if (auto json = parse_json(*text, file.string())) return ceilings_from_json(*json);
  }
  KP_ASSIGN(Ceilings ceilings, runner.measure_ceilings(60));
  KP_TRY(write_file(file, dump_json(to_json(ceilings), 2)));
  return ceilings;
}

std::vector<Metric> metrics_of(const std::vector<Tool>& tools) {
  std::vector<Metric> all = {Metric::duration_us, Metric::sm_throughput_pct,
                             Metric::memory_throughput_pct, Metric::dram_throughput_pct};
  for (const auto& tool : tools)
    for (const auto* list : {&tool.needs, &tool.also_reads})
      for (Metric m : *list)
        if (std::find(all.begin(), all.end(), m) == all.end()) all.push_back(m);
  return all;
}

Result<Json> once_request(Evaluator& evaluator, const Candidate& candidate, const Build& build) {
  const Task& task = evaluator.task();
  KP_ASSIGN(ResolvedPlan plan, resolve(candidate.plan, task));
  Json tensors = Json::array();
  KP_ASSIGN(Draw draw, evaluator.profiling_draw());
  for (const auto& t : draw.tensors) tensors.push_back(to_json(t));
  return Json{{"device", evaluator.device_index()},
              {"tensors", tensors},
              {"load", load_request(task, build, plan)}};
}

Result<SanitizerReport> sanitize_candidate(Evaluator& evaluator, const Toolkit& toolkit,
                                           const Candidate& candidate, const Build& build,
                                           double timeout_s) {
  auto turn = evaluator.take_turn();
  SanitizeRequest request;
  KP_ASSIGN(request.once, once_request(evaluator, candidate, build));
  request.timeout_s = timeout_s;
  return sanitize(toolkit, request);
}

std::vector<Finding> findings_of(const SanitizerReport& report) {
  std::vector<Finding> findings;
  for (const auto& run : report.runs) {
    for (const auto& issue : run.issues) {
      Finding finding;
      finding.tool = "compute_sanitizer";
      finding.cause = run.tool;
      finding.severity = issue.warning ? Severity::low : Severity::high;
      finding.place = {issue.kernel, issue.line, ""};
      finding.numbers["times"] = issue.times;
      finding.words = {{"what", issue.what}, {"detail", issue.detail}, {"file", issue.file}};
      finding.confidence = 1;
      findings.push_back(std::move(finding));
    }
  }
  return findings;
}

Result<Profile> profile_candidate(Evaluator& evaluator, const Toolkit& toolkit,
                                  const Ceilings& ceilings, const Candidate& candidate,
                                  const Build& build) {
  auto turn = evaluator.take_turn();
  const Task& task = evaluator.task();
  KP_ASSIGN(Json once, once_request(evaluator, candidate, build));
  KP_ASSIGN(TempFolder folder, TempFolder::make("kernelpro-profile"));
  fs::path file = folder.path() / "once.json";
  KP_TRY(write_file(file, dump_json(once)));
  CollectRequest request;
  request.metrics = metrics_of(all_tools());
  request.command = {own_program().string(), "worker", "--once", file.string()};
  KP_ASSIGN(Profile profile, collect_ncu(toolkit, request));
  auto sass = disassemble(toolkit, build.cubin);
  if (!sass) profile.notes.push_back(sass.error().text());
  attach(profile, build, sass.value_or(std::vector<SassSummary>{}));
  profile.device = evaluator.device();
  profile.ceilings = ceilings;
  profile.work = task.work;
  profile.precision = task.precision;
  profile.roofline = roofline_of(task.work, ceilings, task.precision);
  add_measurement(profile);
  return profile;
}

}  // namespace kp
