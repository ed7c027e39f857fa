#include "verdict/native_oracle.h"

#include <fmt/format.h>

#include <cmath>

#include "base/clock.h"
#include "task/native.h"
#include "verdict/compare.h"
#include "verdict/host_tensor.h"
#include "verdict/oracle.h"
#include "verdict/serve.h"
#include "verdict/timing.h"

namespace kp {

namespace {

using Values = std::vector<double>;

struct Seed {
  std::map<std::string, DevicePtr> memory;  // inputs and parameters
  std::map<std::string, Values> truth;      // outputs, f64
  std::map<std::string, LeafError> eager;   // the baseline's own error
};

// The reference as it is compiled for one of its two uses.
struct Reference {
  ResolvedPlan plan;
  std::string cubin;
};

class NativeOracle {
 public:
  NativeOracle(std::unique_ptr<Device> device, Task task, std::uint64_t init_seed)
      : device_(std::move(device)), task_(std::move(task)), init_seed_(init_seed) {}

  Status prepare() {
    KP_ASSIGN(fs::path path, native_reference_path(task_));
    KP_ASSIGN(Candidate candidate, load_candidate(path));
    for (bool promoted : {false, true}) {
      BuildOptions options;
      options.arch = device_->info().arch();
      options.defines = {std::string("real=") + (promoted ? "double" : real_type())};
      Reference& reference = promoted ? truth_ : baseline_;
      KP_ASSIGN(reference.plan, resolve(candidate.plan, task_, promoted));
      KP_ASSIGN(Build built, build(candidate, options));
      if (!built.ok)
        return fail(fmt::format("{}: the reference does not compile with -D{}:\n{}", path.string(),
                                options.defines[0], describe_diagnostics(built, 5)),
                    "a native reference writes `real` for its floating type");
      std::vector<KernelParams> kernels;
      for (const auto& k : built.kernels) kernels.push_back(k.params);
      KP_TRY(check_plan(reference.plan, kernels, device_->info().limits));
      KP_ASSIGN(reference.cubin, read_file(built.cubin));
    }
    return {};
  }

  Json handle(const Json& request, bool& last) {
    std::string op = string_or(request, "op", "");
    auto seed = static_cast<std::uint64_t>(int_or(request, "seed", 0));
    DeviceResult<Json> answer = ok_answer();
    if (op == "draw") {
      answer = draw(seed);
    } else if (op == "compare") {
      answer = compare(seed, request);
    } else if (op == "baselines") {
      answer = baselines(seed, double_or(request, "budget_s", 0.25));
    } else if (op == "forget") {
      forget(seed);
    } else {
      return error_answer("environment", Error{"unknown request " + op, ""});
    }
    if (answer) return *answer;
    last = answer.error().kind == DeviceFault::Kind::crash;
    if (last) answer.error().message = "the reference itself fails: " + answer.error().message;
    return error_answer(answer.error());
  }

  const Task& task() const { return task_; }

 private:
  std::string real_type() const {
    for (const auto& t : task_.tensors)
      if (t.role == Role::output && is_floating(t.dtype)) return std::string(cuda_name(t.dtype));
    return "float";
  }

  static DType promoted(DType type, bool promote) {
    return promote && is_floating(type) ? DType::f64 : type;
  }

  static std::int64_t bytes_of(const TensorSpec& t, DType type) {
    return t.elements() * static_cast<std::int64_t>(size_of(type));
  }

  // Values as the candidate will see them, so that truth and candidate start from the same numbers.
  Values values_of(const TensorSpec& t, std::uint64_t seed) const {
    Values values = draw_values(t, t.role == Role::parameter ? init_seed_ : seed);
    return decode(encode(values, t.dtype), t.dtype);
  }

  DeviceResult<std::map<std::string, DevicePtr>> upload_inputs(std::uint64_t seed, bool promote) {
    std::map<std::string, DevicePtr> memory;
    for (const auto& t : task_.tensors) {
      if (t.role == Role::output) continue;
      DType type = promoted(t.dtype, promote);
      auto pointer = device_->allocate(bytes_of(t, type));
      if (!pointer) return tl::make_unexpected(pointer.error());
      memory[t.name] = *pointer;
      std::vector<std::uint8_t> bytes = encode(values_of(t, seed), type);
      if (auto s = device_->upload(*pointer, bytes.data(), static_cast<std::int64_t>(bytes.size()));
          !s)
        return tl::make_unexpected(s.error());
    }
    return memory;
  }

  void free_all(std::map<std::string, DevicePtr>& memory) {
    for (auto& [name, pointer] : memory) device_->free(pointer);
    memory.clear();
  }

  // Runs a reference on `inputs`; outputs come back as doubles.
  DeviceResult<std::map<std::string, Values>> run(const Reference& reference,
                                                  const std::map<std::string, DevicePtr>& inputs,
                                                  bool promote) {
    Addresses addresses(inputs.begin(), inputs.end());
    std::map<std::string, DevicePtr> own;
    auto result = run_on(reference, addresses, own, promote);
    free_all(own);
    return result;
  }

  DeviceStatus allocate_outputs(const Reference& reference, bool promote, Addresses& addresses,
                                std::map<std::string, DevicePtr>& own) {
    for (const auto& t : task_.tensors) {
      if (t.role != Role::output) continue;
      auto pointer = device_->allocate(bytes_of(t, promoted(t.dtype, promote)));
      if (!pointer) return tl::make_unexpected(pointer.error());
      addresses[t.name] = own[t.name] = *pointer;
    }
    for (const auto& b : reference.plan.buffers) {
      auto pointer = device_->allocate(b.bytes);
      if (!pointer) return tl::make_unexpected(pointer.error());
      addresses[b.name] = own[b.name] = *pointer;
    }
    return {};
  }

  DeviceResult<std::map<std::string, Values>> run_on(const Reference& reference,
                                                     Addresses& addresses,
                                                     std::map<std::string, DevicePtr>& own,
                                                     bool promote) {
    if (auto s = allocate_outputs(reference, promote, addresses, own); !s)
      return tl::make_unexpected(s.error());
    auto program = device_->load(reference.cubin, reference.plan, addresses);
    if (!program) return tl::make_unexpected(program.error());
    if (auto s = (*program)->run(); !s) return tl::make_unexpected(s.error());
    std::map<std::string, Values> outputs;
    for (const auto& t : task_.tensors) {
      if (t.role != Role::output) continue;
      auto values = download(addresses[t.name], t, promoted(t.dtype, promote));
      if (!values) return tl::make_unexpected(values.error());
      outputs[t.name] = std::move(*values);
    }
    return outputs;
  }

  DeviceResult<Values> download(DevicePtr from, const TensorSpec& t, DType type) {
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(bytes_of(t, type)));
    if (auto s = device_->download(bytes.data(), from, static_cast<std::int64_t>(bytes.size())); !s)
      return tl::make_unexpected(s.error());
    return decode(bytes, type);
  }

  DeviceResult<Json> draw(std::uint64_t number) {
    Json stages = Json::array();
    if (seeds_.count(number) == 0) {
      Stopwatch watch;
      Seed seed;
      auto memory = upload_inputs(number, false);
      if (!memory) return tl::make_unexpected(memory.error());
      seed.memory = std::move(*memory);
      stages.push_back({"draw", watch.seconds()});
      Stopwatch truth_watch;
      auto wide = upload_inputs(number, true);
      if (!wide) return tl::make_unexpected(wide.error());
      auto truth = run(truth_, *wide, true);
      free_all(*wide);
      if (!truth) return tl::make_unexpected(truth.error());
      seed.truth = std::move(*truth);
      stages.push_back({"truth", truth_watch.seconds()});
      Stopwatch eager_watch;
      auto eager = run(baseline_, seed.memory, false);
      if (!eager) return tl::make_unexpected(eager.error());
      for (const auto& [name, values] : *eager)
        seed.eager[name] = compare_leaf(*task_.find_tensor(name), seed.truth[name], values, 0, 0,
                                        task_.precision, std::nullopt);
      stages.push_back({"baseline", eager_watch.seconds()});
      seeds_[number] = std::move(seed);
    }
    Json answer = ok_answer();
    answer["tensors"] = Json::array();
    for (const auto& t : task_.tensors) {
      if (t.role == Role::output) continue;
      auto handle = device_->share(seeds_[number].memory[t.name]);
      if (!handle) return tl::make_unexpected(handle.error());
      answer["tensors"].push_back(to_json(SharedTensor{t.name, *handle, 0, t.storage_bytes()}));
    }
    answer["stages"] = stages;
    return answer;
  }

  DeviceResult<Json> compare(std::uint64_t number, const Json& request) {
    auto it = seeds_.find(number);
    if (it == seeds_.end())
      return tl::make_unexpected(
          DeviceFault{DeviceFault::Kind::environment, "compare: this seed was never drawn"});
    const Seed& seed = it->second;
    Json answer = ok_answer();
    answer["leaves"] = Json::array();
    bool pass = true;
    bool all_exact = true;
    for (const auto& entry : request.value("outputs", Json::array())) {
      auto shared = shared_tensor_from_json(entry);
      const TensorSpec* t = shared ? task_.find_tensor(shared->name) : nullptr;
      if (t == nullptr)
        return tl::make_unexpected(
            DeviceFault{DeviceFault::Kind::environment, "compare: unknown output"});
      auto pointer = device_->open_shared(shared->handle);
      if (!pointer) return tl::make_unexpected(pointer.error());
      auto values = download(*pointer + static_cast<DevicePtr>(shared->offset), *t, t->dtype);
      device_->close_shared(*pointer);
      if (!values) return tl::make_unexpected(values.error());
      const LeafError& eager = seed.eager.at(t->name);
      LeafError leaf = compare_leaf(*t, seed.truth.at(t->name), *values, eager.max_abs,
                                    eager.rel_l2, task_.precision, task_.tolerance);
      pass = pass && leaf.ok;
      all_exact = all_exact && !is_floating(t->dtype);
      answer["leaves"].push_back(to_json(leaf));
    }
    answer["pass"] = pass;
    // Only the policy that was passed is known here: no TF32 or half run of a native reference
    // exists.
    answer["accuracy_class"] = all_exact                              ? "exact"
                               : task_.precision == Precision::strict ? "fp32-equivalent"
                               : task_.precision == Precision::tf32   ? "tf32"
                                                                      : "bf16/fp16";
    return answer;
  }

  DeviceResult<Json> baselines(std::uint64_t number, double budget_s) {
    Addresses addresses(seeds_[number].memory.begin(), seeds_[number].memory.end());
    std::map<std::string, DevicePtr> own;
    auto result = time_baseline(addresses, own, budget_s);
    free_all(own);
    return result;
  }

  DeviceResult<Json> time_baseline(Addresses& addresses, std::map<std::string, DevicePtr>& own,
                                   double budget_s) {
    if (auto s = allocate_outputs(baseline_, false, addresses, own); !s)
      return tl::make_unexpected(s.error());
    auto program = device_->load(baseline_.cubin, baseline_.plan, addresses);
    if (!program) return tl::make_unexpected(program.error());
    TimingPolicy policy;
    policy.budget_s = budget_s;
    auto timing =
        measure(policy, "stream", [&] { return (*program)->time_once(LaunchMode::stream); });
    if (!timing) return tl::make_unexpected(timing.error());
    Json answer = ok_answer();
    answer["baselines"] = Json::array({{{"name", "reference"}, {"timing", to_json(*timing)}}});
    return answer;
  }

  void forget(std::uint64_t number) {
    auto it = seeds_.find(number);
    if (it == seeds_.end()) return;
    free_all(it->second.memory);
    seeds_.erase(it);
  }

  std::unique_ptr<Device> device_;
  Task task_;
  std::uint64_t init_seed_;
  Reference baseline_, truth_;
  std::map<std::uint64_t, Seed> seeds_;
};

}  // namespace

int native_oracle_main(const NativeOracleOptions& options) {
  Stopwatch watch;
  auto task = load_native_task(options.task);
  if (!task) return serve(error_answer("task", task.error()), {});
  if (options.precision_given) task->precision = options.precision;
  if (options.tolerance) task->tolerance = options.tolerance;
  auto device = open_cuda_device(options.device);
  if (!device) return serve(error_answer("environment", device.error()), {});
  NativeOracle oracle(std::move(*device), std::move(*task), options.init_seed);
  if (auto prepared = oracle.prepare(); !prepared)
    return serve(error_answer("task", prepared.error()), {});
  Json ready = ok_answer();
  ready["task"] = to_json(oracle.task());
  ready["stages"] = Json::array({Json::array({"load", watch.seconds()})});
  return serve(ready,
               [&](const Json& request, bool& last) { return oracle.handle(request, last); });
}

}  // namespace kp
