#include "verdict/native_oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "base/files.h"
#include "base/text.h"
#include "task/native.h"
#include "verdict/compare.h"
#include "verdict/device_compare.h"
#include "verdict/fitness.h"
#include "verdict/native_reference.h"
#include "verdict/oracle.h"
#include "verdict/serve.h"
#include "verdict/timing.h"
#include "verdict/variant.h"

namespace kp {

namespace {

using Values = NativeReference::Values;

struct Seed {
  Variant variant = Variant::own;  // as drawn
  NativeReference::Memory memory;  // inputs and parameters; empty: not on the device
  DrawnValues values;
  std::map<std::string, TruthSize> sizes;  // of the truths, by output; made when first needed
  NativeReference::Memory truth_memory;    // doubles of those that were compared on the device
  std::vector<std::string> trivial;        // answers that ask for no work and pass
};

// The baseline, ready to be sampled on one seed's inputs.
struct Sampler {
  std::uint64_t seed = 0;
  NativeReference::Memory own;  // outputs and buffers
  std::unique_ptr<Device::Program> program;
};

class NativeOracle {
 public:
  NativeOracle(std::unique_ptr<Device> device, Task task, const NativeOracleOptions& options)
      : device_(std::move(device)),
        task_(std::move(task)),
        reference_(*device_, task_, options.init_seed),
        force_(options.force) {}

  Status prepare() { return reference_.prepare(); }

  Json handle(const Json& request, bool& last) {
    std::string op = string_or(request, "op", "");
    auto seed = static_cast<std::uint64_t>(int_or(request, "seed", 0));
    DeviceResult<Json> answer = ok_answer();
    if (op == "draw") {
      answer = draw(seed, request);
    } else if (op == "support") {
      answer = support(request);
    } else if (op == "fitness") {
      return fitness();
    } else if (op == "compare") {
      answer = compare(seed, request);
    } else if (op == "close_outputs") {
      close_outputs();
    } else if (op == "baselines") {
      answer = baselines(seed, double_or(request, "budget_s", 0.25));
    } else if (op == "sample") {
      answer = sample(seed, string_or(request, "name", ""),
                      static_cast<int>(int_or(request, "count", 1)));
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
  // The inputs, truth and own error of a seed; its memory is the caller's to free.
  DeviceResult<Seed> make_seed(std::uint64_t number, Variant variant, Json& stages) {
    Stopwatch watch;
    Seed seed;
    seed.variant = variant;
    auto memory = reference_.upload_inputs(number, variant, false);
    if (!memory) return tl::make_unexpected(memory.error());
    seed.memory = std::move(*memory);
    stages.push_back({"draw", watch.seconds()});
    if (auto s = measure_reference(number, seed, stages); !s) {
      reference_.free_all(seed.memory);
      return tl::make_unexpected(s.error());
    }
    return seed;
  }

  DeviceStatus measure_reference(std::uint64_t number, Seed& seed, Json& stages) {
    Stopwatch truth_watch;
    auto wide = reference_.upload_inputs(number, seed.variant, true);
    if (!wide) return tl::make_unexpected(wide.error());
    auto truth = reference_.run(*wide, true);
    reference_.free_all(*wide);
    if (!truth) return tl::make_unexpected(truth.error());
    seed.values.truth = std::move(*truth);
    stages.push_back({"truth", truth_watch.seconds()});
    Stopwatch eager_watch;
    auto eager = reference_.run(seed.memory, false);
    if (!eager) return tl::make_unexpected(eager.error());
    for (const auto& [name, values] : *eager)
      seed.values.eager[name] = compare_leaf(*task_.find_tensor(name), seed.values.truth[name],
                                             values, 0, 0, task_.precision, std::nullopt);
    for (const auto& t : task_.tensors)
      if (t.role == Role::input)
        seed.values.inputs[t.name] = reference_.values_of(t, number, seed.variant);
    seed.trivial = trivial_answers(task_, seed.values);
    seed.values.inputs.clear();
    stages.push_back({"baseline", eager_watch.seconds()});
    return {};
  }

  static bool is_finite(const Values& values) {
    return std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
  }

  bool bears(const Seed& own, const Seed& varied) const {
    return std::all_of(task_.tensors.begin(), task_.tensors.end(), [&](const TensorSpec& t) {
      if (t.role != Role::output) return true;
      return bears_variant(
          t.dtype, is_finite(own.values.truth.at(t.name)), own.values.eager.at(t.name).rel_l2,
          is_finite(varied.values.truth.at(t.name)), varied.values.eager.at(t.name).rel_l2);
    });
  }

  // The seed as a variant, or as the task has it where the reference does not bear the variant.
  DeviceResult<Seed> make_borne(std::uint64_t number, Variant variant, Json& stages, Json& notes) {
    bool floating = std::any_of(task_.tensors.begin(), task_.tensors.end(), [](const auto& t) {
      return t.role == Role::input && is_floating(t.dtype);
    });
    if (!floating) variant = Variant::own;
    auto seed = make_seed(number, variant, stages);
    if (!seed || variant == Variant::own) return seed;
    auto known = std::find_if(seeds_.begin(), seeds_.end(), [](const auto& entry) {
      return entry.second.variant == Variant::own;
    });
    if (known != seeds_.end() && bears(known->second, *seed)) return seed;
    auto own = make_seed(number, Variant::own, stages);
    if (own && known == seeds_.end() && bears(*own, *seed)) {
      reference_.free_all(own->memory);
      return seed;
    }
    reference_.free_all(seed->memory);
    notes.push_back(
        fmt::format("the reference does not bear {} inputs (its result is not finite, or far less "
                    "exact): they are drawn as the task has them",
                    name_of(variant)));
    return own;
  }

  DeviceResult<Json> draw(std::uint64_t number, const Json& request) {
    auto wanted = parse_variant(string_or(request, "variant", "own"));
    if (!wanted)
      return tl::make_unexpected(
          DeviceFault{DeviceFault::Kind::environment, wanted.error().message});
    spill_ = spill_ || bool_or(request, "spill", false);
    Json stages = Json::array();
    Json notes = Json::array();
    if (seeds_.count(number) == 0) {
      if (spill_) drop_inputs();
      auto seed = make_borne(number, *wanted, stages, notes);
      if (!seed) return tl::make_unexpected(seed.error());
      seeds_[number] = std::move(*seed);
    }
    Seed& seed = seeds_[number];
    if (auto s = ensure_inputs(number, seed); !s) return tl::make_unexpected(s.error());
    Json answer = ok_answer();
    answer["variant"] = name_of(seed.variant);
    answer["tensors"] = Json::array();
    for (const auto& t : task_.tensors) {
      if (t.role == Role::output) continue;
      auto handle = device_->share(seed.memory[t.name]);
      if (!handle) return tl::make_unexpected(handle.error());
      answer["tensors"].push_back(to_json(SharedTensor{t.name, *handle, 0, t.storage_bytes()}));
    }
    answer["stages"] = stages;
    answer["notes"] = notes;
    return answer;
  }

  // Inputs that were dropped are made again of their seed.
  DeviceStatus ensure_inputs(std::uint64_t number, Seed& seed) {
    if (!seed.memory.empty()) return {};
    if (spill_) drop_inputs();
    auto memory = reference_.upload_inputs(number, seed.variant, false);
    if (!memory) return tl::make_unexpected(memory.error());
    seed.memory = std::move(*memory);
    return {};
  }

  void drop_inputs() {
    drop_sampler();
    for (auto& [number, seed] : seeds_) {
      reference_.free_all(seed.memory);
      reference_.free_all(seed.truth_memory);
    }
  }

  Json fitness() {
    std::vector<std::vector<std::string>> trivial;
    std::vector<std::string> names;
    bool independent = seeds_.size() > 1;
    for (const auto& [number, seed] : seeds_) {
      trivial.push_back(seed.trivial);
      names.emplace_back(name_of(seed.variant));
      independent = independent && passes_for(task_, seed.values, seeds_.begin()->second.values);
    }
    bool has_input = std::any_of(task_.tensors.begin(), task_.tensors.end(),
                                 [](const TensorSpec& t) { return t.role == Role::input; });
    Fitness found = judge_fitness(trivial, names, independent && has_input);
    if (!found.reasons.empty()) {
      std::string text = join(found.reasons, "; ");
      if (!force_)
        return error_answer("unfit",
                            Error{task_.path + ": unfit as a task: " + text,
                                  "change the sizes, values or tolerance so that only "
                                  "right outputs pass, draw more --seeds, or use --force"});
      found.notes.push_back("unfit as a task, used by force: " + text);
    }
    Json answer = ok_answer();
    answer["notes"] = found.notes;
    return answer;
  }

  DeviceResult<Json> support(const Json& request) {
    auto cubin = read_file(string_or(request, "cubin", ""));
    if (!cubin)
      return tl::make_unexpected(
          DeviceFault{DeviceFault::Kind::environment, cubin.error().message});
    support_ = std::move(*cubin);
    return ok_answer();
  }

  DeviceResult<LeafError> compare_at(Seed& seed, const TensorSpec& t, DevicePtr out) {
    if (auto leaf = compare_on_device(seed, t, out)) return *leaf;
    auto values = reference_.download(out, t, t.dtype);
    if (!values) return tl::make_unexpected(values.error());
    const LeafError& eager = seed.values.eager.at(t.name);
    return compare_leaf(t, seed.values.truth.at(t.name), *values, eager.max_abs, eager.rel_l2,
                        task_.precision, task_.tolerance);
  }

  // nullopt for whatever needs a look on the host: wrong elements, other types, too little memory.
  std::optional<LeafError> compare_on_device(Seed& seed, const TensorSpec& t, DevicePtr out) {
    if (support_.empty() || spill_ || !t.contiguous() || !sums_on_device(t.dtype) ||
        t.elements() == 0)
      return std::nullopt;
    const Values& truth = seed.values.truth.at(t.name);
    DevicePtr& there = seed.truth_memory[t.name];
    if (there == 0) {
      auto bytes = static_cast<std::int64_t>(truth.size() * sizeof(double));
      auto pointer = device_->allocate(bytes);
      if (!pointer) return std::nullopt;
      there = *pointer;
      if (!device_->upload(there, truth.data(), bytes)) return std::nullopt;
      seed.sizes[t.name] = size_of_truth(t, truth);
    }
    auto sums = sum_errors(*device_, support_, t.dtype, there, out,
                           static_cast<std::uint64_t>(t.elements()));
    if (!sums) return std::nullopt;
    const LeafError& eager = seed.values.eager.at(t.name);
    return leaf_from_sums(t, seed.sizes[t.name], sums->squares, sums->max_abs, eager.max_abs,
                          eager.rel_l2, task_.precision, task_.tolerance);
  }

  DeviceResult<Json> compare(std::uint64_t number, const Json& request) {
    auto it = seeds_.find(number);
    if (it == seeds_.end())
      return tl::make_unexpected(
          DeviceFault{DeviceFault::Kind::environment, "compare: this seed was never drawn"});
    Seed& seed = it->second;
    if (auto memory = int_or(request, "memory", 0); memory != outputs_number_) {
      close_outputs();
      outputs_number_ = memory;
    }
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
      auto opened = outputs_.find(shared->handle);
      if (opened == outputs_.end()) {
        auto pointer = device_->open_shared(shared->handle);
        if (!pointer) return tl::make_unexpected(pointer.error());
        opened = outputs_.emplace(shared->handle, *pointer).first;
      }
      auto compared = compare_at(seed, *t, opened->second + static_cast<DevicePtr>(shared->offset));
      if (!compared) return tl::make_unexpected(compared.error());
      const LeafError& leaf = *compared;
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

  void close_outputs() {
    for (auto& [handle, pointer] : outputs_) device_->close_shared(pointer);
    outputs_.clear();
  }

  DeviceResult<Json> baselines(std::uint64_t number, double budget_s) {
    if (auto s = prepare_sampler(number); !s) return tl::make_unexpected(s.error());
    TimingPolicy policy;
    policy.budget_s = budget_s;
    auto timing =
        measure(policy, "stream", [&] { return sampler_.program->time_once(LaunchMode::stream); });
    drop_sampler();
    if (!timing) return tl::make_unexpected(timing.error());
    Json answer = ok_answer();
    answer["baselines"] = Json::array({{{"name", "reference"}, {"timing", to_json(*timing)}}});
    return answer;
  }

  DeviceResult<Json> sample(std::uint64_t number, const std::string& name, int count) {
    if (name != "reference")
      return tl::make_unexpected(DeviceFault{DeviceFault::Kind::environment,
                                             "sample: no baseline " + name + "; known: reference"});
    if (auto s = prepare_sampler(number); !s) return tl::make_unexpected(s.error());
    Json answer = ok_answer();
    answer["samples_ms"] = Json::array();
    for (int i = 0; i < count; ++i) {
      auto ms = sampler_.program->time_once(LaunchMode::stream);
      if (!ms) return tl::make_unexpected(ms.error());
      answer["samples_ms"].push_back(*ms);
    }
    return answer;
  }

  // Loads the baseline for a seed and warms it up; kept for the next samples of that seed.
  DeviceStatus prepare_sampler(std::uint64_t number) {
    if (sampler_.program && sampler_.seed == number) return {};
    drop_sampler();
    auto it = seeds_.find(number);
    if (it == seeds_.end())
      return tl::make_unexpected(
          DeviceFault{DeviceFault::Kind::environment, "this seed was never drawn"});
    if (auto s = ensure_inputs(number, it->second); !s) return s;
    auto program = reference_.load_baseline(it->second.memory, sampler_.own);
    if (!program) return tl::make_unexpected(program.error());
    sampler_.program = std::move(*program);
    sampler_.seed = number;
    for (int i = 0; i < TimingPolicy{}.warmup; ++i)
      if (auto ms = sampler_.program->time_once(LaunchMode::stream); !ms)
        return tl::make_unexpected(ms.error());
    return {};
  }

  void drop_sampler() {
    sampler_.program.reset();
    reference_.free_all(sampler_.own);
  }

  void forget(std::uint64_t number) {
    auto it = seeds_.find(number);
    if (it == seeds_.end()) return;
    drop_sampler();
    reference_.free_all(it->second.memory);
    reference_.free_all(it->second.truth_memory);
    seeds_.erase(it);
  }

  std::unique_ptr<Device> device_;
  Task task_;
  NativeReference reference_;
  bool force_;
  std::string support_;  // the engine's own kernels
  bool spill_ = false;   // the inputs of one seed on the device, no more
  std::map<std::uint64_t, Seed> seeds_;
  std::map<std::string, DevicePtr> outputs_;  // of the runner, by handle
  std::int64_t outputs_number_ = 0;           // of the runner's memory
  Sampler sampler_;
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
  NativeOracle oracle(std::move(*device), std::move(*task), options);
  if (auto prepared = oracle.prepare(); !prepared)
    return serve(error_answer("task", prepared.error()), {});
  Json ready = ok_answer();
  ready["task"] = to_json(oracle.task());
  ready["stages"] = Json::array({Json::array({"load", watch.seconds()})});
  return serve(ready,
               [&](const Json& request, bool& last) { return oracle.handle(request, last); });
}

}  // namespace kp
