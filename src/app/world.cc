#include "app/world.h"

#include <fmt/format.h>

#include "app/task_options.h"
#include "profile/roofline.h"
#include "report/text.h"

namespace kp {

GpuWorld::GpuWorld(Evaluator evaluator, Toolkit toolkit, Ceilings ceilings,
                   std::unique_ptr<Provider> provider, int directives, bool quiet)
    : evaluator_(std::move(evaluator)),
      toolkit_(std::move(toolkit)),
      ceilings_(std::move(ceilings)),
      roofline_(roofline_of(evaluator_.task().work, ceilings_, evaluator_.task().precision)),
      provider_(std::move(provider)),
      directives_(directives),
      quiet_(quiet) {}

Result<Verdict> GpuWorld::evaluate(const Candidate& candidate) {
  auto verdict = evaluator_.evaluate(candidate);
  clear_progress();
  return verdict;
}

Result<Diagnosis> GpuWorld::diagnose(const Candidate& candidate, const Verdict& verdict) {
  Build built;
  if (verdict.build) {
    built = *verdict.build;
  } else {
    BuildOptions options;
    options.arch = device().arch();
    KP_ASSIGN(built, build(candidate, options));
  }
  Diagnosis diagnosis;
  KP_ASSIGN(diagnosis.profile,
            profile_candidate(evaluator_, toolkit_, ceilings_, candidate, built));
  diagnosis.findings = run_tools(diagnosis.profile, all_tools());
  diagnosis.directives = make_directives(diagnosis.findings, directives_);
  return diagnosis;
}

void GpuWorld::on_judged(const RunState& state, NodeId node) {
  clear_progress();
  if (!quiet_) fmt::print(stderr, "{}\n", progress_line(state, node));
}

void GpuWorld::on_step(std::string_view what) {
  if (!quiet_) show_progress(fmt::format("  {} ...", what));
}

}  // namespace kp
