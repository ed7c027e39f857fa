#pragma once
// The search's world on a real GPU: the evaluator, the profiler and a provider.
#include "app/profiling.h"
#include "search/world.h"

namespace kp {

class GpuWorld : public World {
 public:
  GpuWorld(Evaluator evaluator, Toolkit toolkit, Ceilings ceilings,
           std::unique_ptr<Provider> provider, int directives, bool quiet);

  const Task& task() override { return evaluator_.task(); }
  const DeviceInfo& device() override { return evaluator_.device(); }
  const Ceilings* ceilings() override { return &ceilings_; }
  const Roofline& roofline() override { return roofline_; }
  Evaluator& evaluator() { return evaluator_; }
  bool cutlass() override { return !toolkit_.cutlass_include.empty(); }
  Provider& provider() override { return *provider_; }

  void expect(const Candidate& candidate) override { evaluator_.expect(candidate); }
  Result<Verdict> evaluate(const Candidate& candidate) override;
  Result<Diagnosis> diagnose(const Candidate& candidate, const Verdict& verdict) override;
  void on_judged(const RunState& state, NodeId node) override;
  void on_step(std::string_view what) override;

 private:
  Evaluator evaluator_;
  Toolkit toolkit_;
  Ceilings ceilings_;
  Roofline roofline_;
  std::unique_ptr<Provider> provider_;
  int directives_;
  bool quiet_;
};

}  // namespace kp
