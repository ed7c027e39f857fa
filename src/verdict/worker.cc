#include "verdict/worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include "base/clock.h"
#include "base/files.h"
#include "build/cubin.h"
#include "device/nvml.h"
#include "verdict/guarded.h"
#include "verdict/oracle.h"
#include "verdict/sanitizer.h"
#include "verdict/serve.h"
#include "verdict/support.h"

namespace kp {

namespace {

using Kind = GuardedMemory::Kind;

constexpr double kEnergyWindow = 0.5;  // s: five steps of the counter
constexpr double kEnergyStep = 0.3;    // s within which the counter must have stepped

constexpr std::uint8_t kUnwritten = 0xFF;
constexpr std::int64_t kProofBytes = 1 << 20;  // of each output that are looked at

class Worker {
 public:
  explicit Worker(Device& device) : device_(device), memory_(device) {
    if (auto nvml = Nvml::open(device.info().uuid)) nvml_ = *nvml;
  }

  Json handle(const Json& request, bool& last) {
    std::string op = string_or(request, "op", "");
    DeviceResult<Json> answer = dispatch(op, request);
    if (answer) return *answer;
    last = answer.error().kind == DeviceFault::Kind::crash;
    return error_answer(answer.error());
  }

  DeviceResult<Json> inputs(const Json& request) {
    std::vector<SharedTensor> tensors;
    std::vector<GuardedMemory::Piece> pieces;
    for (const auto& entry : request.value("tensors", Json::array())) {
      auto tensor = shared_tensor_from_json(entry);
      if (!tensor) return environment(tensor.error().message);
      pieces.push_back({tensor->name, tensor->bytes});
      tensors.push_back(std::move(*tensor));
    }
    auto moved = memory_.place(Kind::input, pieces);
    if (!moved) return tl::make_unexpected(moved.error());
    if (*moved) program_.reset();  // bound to the old addresses
    std::map<std::string, DevicePtr> opened;
    DeviceStatus status;
    for (const auto& tensor : tensors) {
      status = copy_in(tensor, opened);
      if (!status) break;
    }
    for (auto& [handle, pointer] : opened) device_.close_shared(pointer);
    if (status) status = memory_.remember_inputs();
    if (!status) return tl::make_unexpected(status.error());
    return ok_answer();
  }

  DeviceResult<Json> load(const Json& request) {
    program_.reset();
    auto plan = resolved_plan_from_json(request.value("plan", Json::object()));
    if (!plan) return environment(plan.error().message);
    auto cubin = read_file(string_or(request, "cubin", ""));
    if (!cubin) return environment(cubin.error().message);
    auto state = parse_cubin_state(*cubin);
    if (!state) return environment(state.error().message);
    std::vector<GuardedMemory::Piece> outputs, buffers;
    for (const auto& output : request.value("outputs", Json::array()))
      outputs.push_back({string_or(output, "name", ""), int_or(output, "bytes", 0)});
    for (const auto& buffer : plan->buffers) buffers.push_back({buffer.name, buffer.bytes});
    // The last candidate's buffers go first: together with these they may not fit.
    for (auto [kind, pieces] :
         {std::pair{Kind::buffer, &buffers}, std::pair{Kind::output, &outputs}})
      if (auto placed = memory_.place(kind, *pieces); !placed)
        return tl::make_unexpected(placed.error());
    memory_.set_local_bytes(static_cast<std::uint32_t>(int_or(request, "local_bytes", 0)));
    auto program = device_.load(*cubin, *plan, memory_.addresses(), state->globals);
    if (!program) return tl::make_unexpected(program.error());
    program_ = std::move(*program);
    launches_ = static_cast<int>(std::count_if(
        plan->steps.begin(), plan->steps.end(),
        [](const ResolvedStep& step) { return std::holds_alternative<KernelLaunch>(step); }));
    return ok_answer();
  }

  // Inputs from files of a folder, named as the tensors.
  DeviceStatus inputs_from(const Json& request, const fs::path& folder) {
    std::vector<GuardedMemory::Piece> pieces;
    for (const auto& entry : request.value("tensors", Json::array()))
      pieces.push_back({string_or(entry, "name", ""), int_or(entry, "bytes", 0)});
    if (auto moved = memory_.place(Kind::input, pieces); !moved)
      return tl::make_unexpected(moved.error());
    for (const auto& piece : pieces) {
      fs::path file = folder / piece.name;
      auto bytes = read_file(file);
      if (!bytes) return environment(bytes.error().message);
      if (auto s = device_.upload(memory_.at(Kind::input, piece.name), bytes->data(),
                                  static_cast<std::int64_t>(bytes->size()));
          !s)
        return s;
    }
    return {};
  }

  DeviceStatus inputs_to(const fs::path& folder) {
    for (const auto& [name, memory] : memory_.pieces(Kind::input)) {
      std::string bytes(static_cast<std::size_t>(memory.bytes), '\0');
      if (auto s = device_.download(bytes.data(), memory_.at(Kind::input, name), memory.bytes); !s)
        return s;
      if (auto written = write_file(folder / name, bytes); !written)
        return environment(written.error().message);
    }
    return {};
  }

  // One run on its own, with proof that it happened. fill_all: on poisoned memory; else only the
  // outputs are filled. Without the support kernels nothing but the candidate's own is launched.
  DeviceResult<OnceProof> run_once(bool fill_all) {
    if (fill_all)
      if (auto s = memory_.fill_fresh(); !s) return tl::make_unexpected(s.error());
    for (const auto& [name, memory] : memory_.pieces(Kind::output))
      if (auto s = device_.fill(memory_.at(Kind::output, name), kUnwritten, memory.bytes); !s)
        return tl::make_unexpected(s.error());
    if (auto s = program_->run(); !s) return tl::make_unexpected(s.error());
    OnceProof proof{launches_, true};
    for (const auto& [name, memory] : memory_.pieces(Kind::output)) {
      std::vector<std::uint8_t> start(
          static_cast<std::size_t>(std::min(memory.bytes, kProofBytes)));
      if (auto s = device_.download(start.data(), memory_.at(Kind::output, name),
                                    static_cast<std::int64_t>(start.size()));
          !s)
        return tl::make_unexpected(s.error());
      if (!start.empty() &&
          std::all_of(start.begin(), start.end(), [](std::uint8_t b) { return b == kUnwritten; }))
        proof.outputs_written = false;
    }
    return proof;
  }

  // One run, or many one after the other. fresh: the first is on poisoned memory and with the
  // module as it was loaded; else on what the last run left.
  DeviceResult<Json> run(bool fresh, int times = 1) {
    if (!program_) return environment("run: nothing is loaded");
    if (auto s = fresh ? refresh() : memory_.prepare(); !s) return tl::make_unexpected(s.error());
    if (auto s = program_->enqueue(LaunchMode::stream, times - 1); !s)
      return tl::make_unexpected(s.error());
    if (auto s = program_->run(); !s) return tl::make_unexpected(s.error());
    auto after = memory_.look();
    if (!after) return tl::make_unexpected(after.error());
    sums_ = after->output_sums;
    return with_outputs(ok_answer(), after->broken_guards);
  }

 private:
  static tl::unexpected<DeviceFault> environment(std::string message) {
    return tl::make_unexpected(DeviceFault{DeviceFault::Kind::environment, std::move(message)});
  }

  DeviceResult<Json> dispatch(const std::string& op, const Json& request) {
    if (op == "support") return support(request);
    if (op == "inputs") return inputs(request);
    if (op == "load") return load(request);
    if (op == "run")
      return run(bool_or(request, "fresh", true), static_cast<int>(int_or(request, "times", 1)));
    if (op == "time") return time(request);
    if (op == "energy") return energy(request);
    if (op == "release") return release();
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
    memory_.use_support(support_);
    return ok_answer();
  }

  DeviceResult<Json> release() {
    program_.reset();
    for (Kind kind : {Kind::input, Kind::output, Kind::buffer}) memory_.release(kind);
    return ok_answer();
  }

  DeviceStatus copy_in(const SharedTensor& tensor, std::map<std::string, DevicePtr>& opened) {
    auto it = opened.find(tensor.handle);
    if (it == opened.end()) {
      auto theirs = device_.open_shared(tensor.handle);
      if (!theirs) return tl::make_unexpected(theirs.error());
      it = opened.emplace(tensor.handle, *theirs).first;
    }
    return device_.copy(memory_.at(Kind::input, tensor.name),
                        it->second + static_cast<DevicePtr>(tensor.offset), tensor.bytes);
  }

  DeviceStatus refresh() {
    if (auto s = memory_.fill_fresh(); !s) return s;
    return program_->restore();
  }

  DeviceResult<Json> with_outputs(Json answer, const std::vector<std::string>& broken_guards) {
    answer["outputs"] = Json::array();
    for (const auto& [name, memory] : memory_.pieces(Kind::output)) {
      auto handle = device_.share(memory.allocation);
      if (!handle) return tl::make_unexpected(handle.error());
      answer["outputs"].push_back(to_json(SharedTensor{
          name, *handle, static_cast<std::int64_t>(memory.at - memory.allocation), memory.bytes}));
    }
    auto changed = memory_.changed_inputs();
    if (!changed) return tl::make_unexpected(changed.error());
    answer["inputs_changed"] = *changed;
    answer["guards_broken"] = broken_guards;
    return answer;
  }

  // Samples of the loaded program. Each is a run like any other: on fresh memory (but for "kept"),
  // with its outputs' checksum held against those of the last "run".
  DeviceResult<Json> time(const Json& request) {
    if (!program_) return environment("time: nothing is loaded");
    LaunchMode mode =
        string_or(request, "mode", "stream") == "graph" ? LaunchMode::graph : LaunchMode::stream;
    std::string kind = string_or(request, "sample", "cold");
    Sample sample = kind == "warm" ? Sample::warm : kind == "wall" ? Sample::wall : Sample::cold;
    std::int64_t count = int_or(request, "count", 1);
    Json samples = Json::array();
    Json events = Json::array();
    int others = 0;
    std::vector<std::string> broken;
    for (std::int64_t i = 0; i < count; ++i) {
      if (kind != "kept")
        if (auto s = refresh(); !s) return tl::make_unexpected(s.error());
      auto ms = program_->time_once(mode, sample);
      if (!ms) return tl::make_unexpected(ms.error());
      samples.push_back(*ms);
      events.push_back(program_->event_ms());
      auto after = memory_.look();
      if (!after) return tl::make_unexpected(after.error());
      if (after->output_sums != sums_) ++others;
      if (broken.empty()) broken = after->broken_guards;
    }
    Json answer = ok_answer();
    answer["samples_ms"] = std::move(samples);
    answer["events_ms"] = std::move(events);
    answer["others"] = others;
    if (nvml_) answer["telemetry"] = to_json(nvml_->look());
    return with_outputs(std::move(answer), broken);
  }

  // Waits for the energy counter's next step: its new value, at this moment.
  DeviceResult<double> next_step() {
    auto first = nvml_->energy_j();
    Stopwatch watch;
    while (first) {
      auto now = nvml_->energy_j();
      if (!now) break;
      if (*now != *first) return *now;
      if (watch.seconds() > kEnergyStep) break;
    }
    return environment(first ? "the energy counter does not step" : first.error().message);
  }

  // Launches back to back (the L2 as they leave it) from one step of the counter to a later one.
  DeviceResult<Json> energy(const Json& request) {
    if (!program_) return environment("energy: nothing is loaded");
    if (!nvml_) return environment("energy: NVML cannot be used here");
    LaunchMode mode =
        string_or(request, "mode", "stream") == "graph" ? LaunchMode::graph : LaunchMode::stream;
    auto windows = int_or(request, "windows", 4);
    double call_s = std::max(1e-6, double_or(request, "call_ms", 1) / 1e3);
    int batch = static_cast<int>(std::clamp(0.01 / call_s, 1.0, 2000.0));
    Json answer = ok_answer();
    answer["windows"] = Json::array();
    Stopwatch idle_watch;
    auto idle_start = next_step();
    if (!idle_start) return tl::make_unexpected(idle_start.error());
    double idle_from = idle_watch.seconds();
    std::this_thread::sleep_for(std::chrono::duration<double>(kEnergyWindow));
    auto idle_end = next_step();
    if (!idle_end) return tl::make_unexpected(idle_end.error());
    answer["idle_w"] = (*idle_end - *idle_start) / (idle_watch.seconds() - idle_from);
    for (std::int64_t w = -1; w < windows; ++w) {  // the first one brings clocks and heat up
      std::int64_t calls = 0;
      auto work = [&]() -> DeviceStatus {
        calls += batch;
        if (auto s = program_->enqueue(mode, batch); !s) return s;
        return program_->wait();
      };
      // Work goes on while the counter is waited for: the steps lie inside the busy time.
      auto busy_step = [&](double& at) -> DeviceResult<double> {
        auto first = nvml_->energy_j();
        Stopwatch watch;
        while (first && watch.seconds() < kEnergyStep + 4 * batch * call_s) {
          if (auto s = work(); !s) return tl::make_unexpected(s.error());
          auto now = nvml_->energy_j();
          if (now && *now != *first) {
            at = now_s();
            return *now;
          }
        }
        return environment("the energy counter does not step");
      };
      double from = 0, to = 0;
      auto start = busy_step(from);
      if (!start) return tl::make_unexpected(start.error());
      calls = 0;
      while (now_s() - from < kEnergyWindow)
        if (auto s = work(); !s) return tl::make_unexpected(s.error());
      auto end = busy_step(to);
      if (!end) return tl::make_unexpected(end.error());
      if (w >= 0)
        answer["windows"].push_back(
            {{"calls", calls}, {"joules", *end - *start}, {"seconds", to - from}});
    }
    answer["telemetry"] = to_json(nvml_->look());
    return answer;
  }

  Device& device_;
  GuardedMemory memory_;
  std::string support_;
  std::optional<Nvml> nvml_;
  std::unique_ptr<Device::Program> program_;
  int launches_ = 0;                 // of kernels, in one run of it
  std::vector<std::uint64_t> sums_;  // of the last run's outputs
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
  std::string from = string_or(*request, "inputs_from", "");
  if (from.empty()) {
    if (auto copied = worker.inputs(*request); !copied) return complain(copied.error().message);
  } else if (auto read = worker.inputs_from(*request, from); !read) {
    return complain(read.error().message);
  }
  if (std::string to = string_or(*request, "inputs_to", ""); !to.empty()) {
    auto written = worker.inputs_to(to);
    return written ? 0 : complain(written.error().message);
  }
  auto step = worker.load(request->value("load", Json::object()));
  if (!step) return complain(step.error().message);
  auto proof = worker.run_once(string_or(*request, "fill", "all") == "all");
  if (!proof) return complain(proof.error().message);
  std::string proof_file = string_or(*request, "proof", "");
  if (proof_file.empty()) return 0;
  auto written = write_file(proof_file, dump_json(to_json(*proof)));
  return written ? 0 : complain(written.error().text());
}

}  // namespace kp
