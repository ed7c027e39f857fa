#pragma once
// Runner: the disposable process that runs candidates on one GPU (`kernelpro worker`). A crash or a
// hang ends it alone; the next call starts a fresh one.
#include <memory>
#include <string>
#include <vector>

#include "base/process.h"
#include "device/info.h"
#include "verdict/oracle.h"

namespace kp {

// What became of a request: an answer, or how the candidate broke the runner.
struct RunnerAnswer {
  enum class Kind { ok, plan_error, crashed, timed_out, out_of_memory } kind = Kind::ok;
  std::string reason;  // one line when not ok
  Json body;           // when ok
  bool died = false;   // crashed: by a signal, with nothing said of why
};

struct RunnerOptions {
  int device = 0;
  std::string log_path;
};

class Runner {
 public:
  explicit Runner(RunnerOptions options) : options_(std::move(options)) {}

  Result<DeviceInfo> device();
  // Copies the tensors into the runner's own memory (kept until the next set).
  Result<RunnerAnswer> set_inputs(const Draw& draw, double timeout_s);
  // Loads the cubin, checks the plan against its kernels and the device, allocates outputs and
  // buffers. One candidate at a time: replaces the one before.
  Result<RunnerAnswer> load(const Task& task, const Build& build, const ResolvedPlan& plan,
                            double timeout_s);
  // `times` runs in a row. fresh: the first on poisoned memory and with the module's variables as
  // they were loaded, else on what the last run left. body: {"outputs": [SharedTensor],
  // "inputs_changed": [names], "guards_broken": [places]}.
  Result<RunnerAnswer> run(bool fresh, int times, double timeout_s);
  // `count` samples; mode "stream" or "graph", sample "cold", "warm", "wall" or "kept" (cold L2,
  // but on what the last run left). body: as run's, with "samples_ms", "others" (runs whose
  // outputs are not the bits of the last run) and "telemetry".
  Result<RunnerAnswer> time(std::string_view mode, std::string_view sample, int count,
                            double timeout_s);
  // body: {"windows": [{"calls", "joules", "seconds"}], "idle_w", "telemetry"}.
  Result<RunnerAnswer> energy(std::string_view mode, double call_ms, double timeout_s);
  Status release();  // frees the memory of inputs, outputs and buffers; load comes anew
  Result<Ceilings> measure_ceilings(double timeout_s);
  void stop();  // kills the process; the next call starts a new one
  int restarts() const { return restarts_; }
  bool alive() { return process_ && process_->alive(); }
  // Of the memory that outputs lie in: another number, other memory, whatever the handles say.
  std::uint64_t memory() const { return memory_; }
  int device_index() const { return options_.device; }

 private:
  Result<RunnerAnswer> ask(const Json& request, double timeout_s);
  Result<RunnerAnswer> exchange(const Json& request, double timeout_s);
  Status ensure_started();

  RunnerOptions options_;
  DeviceInfo device_;
  std::unique_ptr<LineProcess> process_;
  int restarts_ = 0;
  std::uint64_t memory_ = 0;
};

// The "load" request for a candidate; profiling writes it into the file of `kernelpro worker
// --once`.
Json load_request(const Task& task, const Build& build, const ResolvedPlan& plan);

}  // namespace kp
