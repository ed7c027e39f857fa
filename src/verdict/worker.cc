#include "verdict/worker.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/files.h"
#include "verdict/oracle.h"
#include "verdict/serve.h"
#include "verdict/support.h"
#include "verdict/timing.h"

namespace kp {

namespace {

struct Memory {
  DevicePtr pointer = 0;
  std::int64_t bytes = 0;
};

// Named allocations that are kept as long as their size stays the same.
class Pool {
 public:
  explicit Pool(Device& device) : device_(device) {}
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() {
    for (auto& [name, memory] : all_) device_.free(memory.pointer);
  }

  DeviceResult<DevicePtr> get(const std::string& name, std::int64_t bytes) {
    Memory& memory = all_[name];
    if (memory.pointer != 0 && memory.bytes == bytes) return memory.pointer;
    device_.free(memory.pointer);
    memory = {};
    auto pointer = device_.allocate(bytes);
    if (!pointer) return pointer;
    memory = {*pointer, bytes};
    return *pointer;
  }

  void keep_only(const std::vector<std::string>& names) {
    for (auto it = all_.begin(); it != all_.end();) {
      bool keep = std::find(names.begin(), names.end(), it->first) != names.end();
      if (!keep) device_.free(it->second.pointer);
      it = keep ? std::next(it) : all_.erase(it);
    }
  }

  const std::map<std::string, Memory>& all() const { return all_; }

 private:
  Device& device_;
  std::map<std::string, Memory> all_;
};

constexpr std::uint8_t kPoison = 0xFF;  // NaN for floats, -1 for integers: unwritten places show

class Worker {
 public:
  explicit Worker(Device& device)
      : device_(device), inputs_(device), outputs_(device), buffers_(device), sums_(device) {}

  Json handle(const Json& request, bool& last) {
    std::string op = string_or(request, "op", "");
    DeviceResult<Json> answer = dispatch(op, request);
    if (answer) return *answer;
    last = answer.error().kind == DeviceFault::Kind::crash;
    return error_answer(answer.error());
  }

  DeviceResult<Json> inputs(const Json& request) {
    program_.reset();  // bound to the old addresses
    check_.reset();
    std::vector<std::string> names;
    std::map<std::string, DevicePtr> opened;
    DeviceStatus status;
    for (const auto& entry : request.value("tensors", Json::array())) {
      auto tensor = shared_tensor_from_json(entry);
      if (!tensor) return environment(tensor.error().message);
      names.push_back(tensor->name);
      status = copy_in(*tensor, opened);
      if (!status) break;
    }
    for (auto& [handle, pointer] : opened) device_.close_shared(pointer);
    if (!status) return tl::make_unexpected(status.error());
    inputs_.keep_only(names);
    if (!support_.empty()) {
      if (auto prepared = prepare_checksums(); !prepared)
        return tl::make_unexpected(prepared.error());
      auto sums = checksums();
      if (!sums) return tl::make_unexpected(sums.error());
      clean_ = *sums;
    }
    return ok_answer();
  }

  DeviceResult<Json> load(const Json& request) {
    program_.reset();
    auto plan = resolved_plan_from_json(request.value("plan", Json::object()));
    if (!plan) return environment(plan.error().message);
    auto cubin = read_file(string_or(request, "cubin", ""));
    if (!cubin) return environment(cubin.error().message);
    Addresses addresses;
    for (const auto& [name, memory] : inputs_.all()) addresses[name] = memory.pointer;
    std::vector<std::string> output_names;
    for (const auto& output : request.value("outputs", Json::array())) {
      std::string name = string_or(output, "name", "");
      auto pointer = outputs_.get(name, int_or(output, "bytes", 0));
      if (!pointer) return tl::make_unexpected(pointer.error());
      addresses[name] = *pointer;
      output_names.push_back(name);
    }
    outputs_.keep_only(output_names);
    std::vector<std::string> buffer_names;
    for (const auto& buffer : plan->buffers) buffer_names.push_back(buffer.name);
    buffers_.keep_only(buffer_names);
    for (const auto& buffer : plan->buffers) {
      auto pointer = buffers_.get(buffer.name, buffer.bytes);
      if (!pointer) return tl::make_unexpected(pointer.error());
      addresses[buffer.name] = *pointer;
    }
    auto program = device_.load(*cubin, *plan, addresses);
    if (!program) return tl::make_unexpected(program.error());
    program_ = std::move(*program);
    return ok_answer();
  }

  DeviceResult<Json> run() {
    if (!program_) return environment("run: nothing is loaded");
    for (const Pool* pool : {&outputs_, &buffers_})
      for (const auto& [name, memory] : pool->all())
        if (auto s = device_.fill(memory.pointer, kPoison, memory.bytes); !s)
          return tl::make_unexpected(s.error());
    if (auto s = program_->run(); !s) return tl::make_unexpected(s.error());
    Json answer = ok_answer();
    answer["outputs"] = Json::array();
    for (const auto& [name, memory] : outputs_.all()) {
      auto handle = device_.share(memory.pointer);
      if (!handle) return tl::make_unexpected(handle.error());
      answer["outputs"].push_back(to_json(SharedTensor{name, *handle, 0, memory.bytes}));
    }
    answer["inputs_changed"] = Json::array();
    if (check_) {
      auto sums = checksums();
      if (!sums) return tl::make_unexpected(sums.error());
      for (const auto& [name, sum] : *sums)
        if (clean_[name] != sum) answer["inputs_changed"].push_back(name);
    }
    return answer;
  }

 private:
  static tl::unexpected<DeviceFault> environment(std::string message) {
    return tl::make_unexpected(DeviceFault{DeviceFault::Kind::environment, std::move(message)});
  }

  DeviceResult<Json> dispatch(const std::string& op, const Json& request) {
    if (op == "support") return support(request);
    if (op == "inputs") return inputs(request);
    if (op == "load") return load(request);
    if (op == "run") return run();
    if (op == "time") return time(request);
    if (op == "ceilings") {
      auto measured = measure_ceilings(device_, support_);
      if (!measured) return tl::make_unexpected(measured.error());
      Json answer = ok_answer();
      answer["ceilings"] = to_json(*measured);
      return answer;
    }
    return environment("unknown request " + op);
  }

  DeviceResult<Json> support(const Json& request) {
    auto cubin = read_file(string_or(request, "cubin", ""));
    if (!cubin) return environment(cubin.error().message);
    support_ = std::move(*cubin);
    return ok_answer();
  }

  DeviceStatus copy_in(const SharedTensor& tensor, std::map<std::string, DevicePtr>& opened) {
    auto own = inputs_.get(tensor.name, tensor.bytes);
    if (!own) return tl::make_unexpected(own.error());
    auto it = opened.find(tensor.handle);
    if (it == opened.end()) {
      auto theirs = device_.open_shared(tensor.handle);
      if (!theirs) return tl::make_unexpected(theirs.error());
      it = opened.emplace(tensor.handle, *theirs).first;
    }
    return device_.copy(*own, it->second + static_cast<DevicePtr>(tensor.offset), tensor.bytes);
  }

  // One launch a tensor, each into its own 8 bytes.
  DeviceStatus prepare_checksums() {
    ResolvedPlan plan;
    Addresses addresses;
    auto count = static_cast<std::int64_t>(inputs_.all().size());
    auto sums = sums_.get("sums", 8 * count);
    if (!sums) return tl::make_unexpected(sums.error());
    addresses["sums"] = *sums;
    plan.steps.emplace_back(MemsetStep{"sums", 0, 8 * count});
    auto blocks = static_cast<std::uint32_t>(device_.info().sms * 8);
    DevicePtr slot = *sums;
    for (const auto& [name, memory] : inputs_.all()) {
      addresses[name] = memory.pointer;
      addresses["sum of " + name] = slot;
      auto words = static_cast<std::uint64_t>(memory.bytes) / 8;
      auto needed = static_cast<std::uint32_t>(std::min<std::uint64_t>(blocks, words / 256 + 1));
      plan.steps.emplace_back(support_launch(
          "kp_checksum", needed, 256,
          {PointerArg{name}, value_arg<std::uint64_t>(static_cast<std::uint64_t>(memory.bytes)),
           PointerArg{"sum of " + name}}));
      slot += 8;
    }
    auto program = device_.load(support_, plan, addresses);
    if (!program) return tl::make_unexpected(program.error());
    check_ = std::move(*program);
    return {};
  }

  DeviceResult<std::map<std::string, std::uint64_t>> checksums() {
    if (auto s = check_->run(); !s) return tl::make_unexpected(s.error());
    std::vector<std::uint64_t> values(inputs_.all().size());
    const Memory& sums = sums_.all().at("sums");
    if (auto s = device_.download(values.data(), sums.pointer,
                                  static_cast<std::int64_t>(8 * values.size()));
        !s)
      return tl::make_unexpected(s.error());
    std::map<std::string, std::uint64_t> named;
    std::size_t i = 0;
    for (const auto& [name, memory] : inputs_.all()) named[name] = values[i++];
    return named;
  }

  DeviceResult<Json> time(const Json& request) {
    if (!program_) return environment("time: nothing is loaded");
    TimingPolicy policy;
    policy.budget_s = double_or(request, "budget_s", policy.budget_s);
    Json answer = ok_answer();
    answer["timings"] = Json::array();
    for (auto [mode, name] :
         {std::pair{LaunchMode::stream, "stream"}, std::pair{LaunchMode::graph, "graph"}}) {
      auto timing = measure(policy, name, [&, m = mode] { return program_->time_once(m); });
      // A plan that cannot be captured (a cooperative launch, say) still has its stream time.
      if (!timing && mode == LaunchMode::graph && timing.error().kind != DeviceFault::Kind::crash)
        break;
      if (!timing) return tl::make_unexpected(timing.error());
      answer["timings"].push_back(to_json(*timing));
    }
    return answer;
  }

  Device& device_;
  Pool inputs_, outputs_, buffers_, sums_;
  std::string support_;
  std::unique_ptr<Device::Program> program_;
  std::unique_ptr<Device::Program> check_;
  std::map<std::string, std::uint64_t> clean_;  // checksums of the inputs as they came
};

}  // namespace

int worker_main(int index) {
  auto device = open_cuda_device(index);
  if (!device) return serve(error_answer("environment", device.error()), {});
  Json ready = ok_answer();
  ready["device"] = to_json((*device)->info());
  Worker worker(**device);
  return serve(ready,
               [&](const Json& request, bool& last) { return worker.handle(request, last); });
}

int worker_once(const std::string& file) {
  auto complain = [](const std::string& message) {
    std::fprintf(stderr, "kernelpro worker: %s\n", message.c_str());
    return 1;
  };
  auto text = read_file(file);
  if (!text) return complain(text.error().text());
  auto request = parse_json(*text, file);
  if (!request) return complain(request.error().text());
  auto device = open_cuda_device(static_cast<int>(int_or(*request, "device", 0)));
  if (!device) return complain(device.error().text());
  Worker worker(**device);
  auto step = worker.inputs(*request);
  if (step) step = worker.load(request->value("load", Json::object()));
  if (step) step = worker.run();
  return step ? 0 : complain(step.error().message);
}

}  // namespace kp
