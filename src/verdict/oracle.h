#pragma once
// Oracle: the trusted process that knows the truth. For KernelBench tasks it is
// assets/oracle/oracle.py (PyTorch); for native tasks it is this program again (`kernelpro
// oracle`), running the reference. Both speak the same lines of JSON (docs/protocols.md).
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/process.h"
#include "device/info.h"
#include "task/task.h"
#include "verdict/variant.h"
#include "verdict/verdict.h"

namespace kp {

// A tensor in another process's memory: a CUDA IPC handle of the allocation and the place in it.
struct SharedTensor {
  std::string name;
  std::string handle;       // 64 bytes in hexadecimal
  std::int64_t offset = 0;  // bytes from the allocation's start
  std::int64_t bytes = 0;   // storage bytes, strides included
};
Json to_json(const SharedTensor& tensor);
Result<SharedTensor> shared_tensor_from_json(const Json& json);

struct OracleOptions {
  std::string python;             // empty: KERNELPRO_PYTHON, the venv's, python3 with torch
  std::string device = "cuda:0";  // "cpu": describe only (no GPU needed)
  Precision precision = Precision::strict;
  std::optional<Tolerance> tolerance;
  std::optional<std::uint64_t> init_seed;  // of the parameters; none: secret
  bool force = false;                      // takes tasks that are unfit, with a note
  bool compile_baseline = false;           // torch.compile is a baseline too
  std::optional<double> gpu_memory_gib;    // the oracle's own share at most; none: the whole card
  // Called once before the task is loaded onto the GPU, when all else that takes time (importing
  // PyTorch) is done. May be empty.
  std::function<void()> before_device;
  double timeout_s = 600;  // of one request
  std::string log_path;    // the oracle's stderr; empty: a temporary file
};

struct Draw {
  std::vector<SharedTensor> tensors;  // inputs and parameters of this seed
  Variant variant = Variant::own;     // the one used: own where the reference bears no other
};

struct Comparison {
  bool ok = false;
  std::vector<LeafError> leaves;
  std::string accuracy_class;  // when ok
};

// The python that runs the oracle: OracleOptions.python or KERNELPRO_PYTHON when given, else the
// first of the program's and the working folder's .venv and python3 that has torch. The Error says
// what each lacks.
Result<std::string> find_python(const std::string& wanted);

// Path of oracle.py, written from the assets into a folder of the cache that is named by its
// content.
Result<fs::path> unpack_oracle();

class Oracle {
 public:
  // Loads the task. Errors carry the task file's own line ("relu.py:3: SyntaxError: ...").
  static Result<Oracle> start(const fs::path& task, const OracleOptions& options);

  const Task& task() const { return task_; }
  bool alive() { return process_ && process_->alive(); }
  // Draws the inputs of `seed` on the GPU (kept until forget), computes the truth and the eager
  // output's error; later calls of the same seed are free, and its variant stays the first call's.
  // `spill`: from now on truths are kept in host memory, and the inputs of one seed on the GPU;
  // for when failure_kind() was "out_of_memory".
  Result<Draw> draw(std::uint64_t seed, Variant variant = Variant::own, bool spill = false);
  // Whether the draws so far tell a right output from zeros, ones, the mean, the first input and
  // the answer to other inputs. An error of kind "unfit" when not (a note with force).
  Status check_fitness();
  // Gives it the engine's own kernels (support.h), which compare faster.
  Status use_support(const fs::path& cubin);
  Status forget(std::uint64_t seed);
  // Outputs as the runner exports them, by the task's output names. Their memory stays mapped for
  // the next comparison with the same `memory` (Runner::memory), or until close_outputs.
  Result<Comparison> compare(std::uint64_t seed, const std::vector<SharedTensor>& outputs,
                             std::uint64_t memory);
  // Before the runner frees its outputs, and after it died with them.
  Status close_outputs();
  // Times the baselines with a cold L2 on the inputs of `seed`, at most `budget_s` each.
  Result<std::vector<Baseline>> time_baselines(std::uint64_t seed, double budget_s);
  // `count` cold-L2 samples in ms of one of those baselines, for interleaving with a candidate's;
  // the first call of a seed warms up.
  Result<std::vector<double>> sample_baseline(std::uint64_t seed, const std::string& name,
                                              int count);
  // Kind of the last request's failure as in docs/protocols.md: "out_of_memory", "unfit", "task",
  // "environment"; empty when it was answered, or when the process ended.
  const std::string& failure_kind() const { return failure_kind_; }
  // Any other request of docs/protocols.md ("module_place").
  Result<Json> request(const Json& request) { return ask(request); }
  std::vector<std::pair<std::string, double>> last_stages() const { return stages_; }

 private:
  Oracle() = default;
  Result<Json> ask(const Json& request);
  Result<Json> read_answer(std::string_view doing, double timeout_s);
  Error ended(std::string message);  // with the tail of the log; the process is gone afterwards

  std::unique_ptr<LineProcess> process_;
  double timeout_s_ = 600;
  Task task_;
  std::optional<TempFolder> log_folder_;
  std::string log_path_;
  std::vector<std::pair<std::string, double>> stages_;
  std::string failure_kind_;
};

}  // namespace kp
