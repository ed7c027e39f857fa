#include "device/cuda_program.h"

#include <fmt/format.h>

#include <cstring>

#include "base/clock.h"
#include "candidate/kernel_name.h"

namespace kp {

namespace {

DeviceFault plan_fault(std::string message) {
  return {DeviceFault::Kind::plan, std::move(message)};
}

struct PackedLaunch {
  CUfunction function = nullptr;
  CUlaunchConfig config{};
  std::vector<CUlaunchAttribute> attributes;
  std::vector<std::vector<std::uint8_t>> values;  // argument storage
  std::vector<void*> pointers;
  std::string where;
};

// A variable of the module, and where its first value is kept.
struct Global {
  CUdeviceptr address = 0;
  CUdeviceptr saved = 0;
  std::size_t bytes = 0;
};

struct PackedMemset {
  CUdeviceptr target = 0;
  std::uint8_t value = 0;
  std::size_t bytes = 0;
};

struct PackedCopy {
  CUdeviceptr from = 0, to = 0;
  std::size_t bytes = 0;
};

using PackedStep = std::variant<PackedLaunch, PackedMemset, PackedCopy>;

class CudaProgram : public Device::Program {
 public:
  explicit CudaProgram(const CudaContext& cuda) : cuda_(cuda) {}
  CudaProgram(const CudaProgram&) = delete;
  CudaProgram& operator=(const CudaProgram&) = delete;

  ~CudaProgram() override {
    const Driver& d = cuda_.driver;
    if (graph_ != nullptr) d.cuGraphExecDestroy(graph_);
    if (saved_ != 0) d.cuMemFree(saved_);
    if (start_ != nullptr) d.cuEventDestroy(start_);
    if (end_ != nullptr) d.cuEventDestroy(end_);
    if (module_ != nullptr) d.cuModuleUnload(module_);
  }

  DeviceStatus prepare(std::string_view cubin, const ResolvedPlan& plan, const Addresses& addresses,
                       const std::vector<std::string>& globals) {
    std::string image(cubin);
    CUresult rc = cuda_.driver.cuModuleLoadData(&module_, image.data());
    if (rc != CUDA_SUCCESS) {
      DeviceFault fault = fault_of(cuda_.driver, rc, "cuModuleLoadData");
      if (fault.kind == DeviceFault::Kind::environment) fault.kind = DeviceFault::Kind::plan;
      return tl::make_unexpected(fault);
    }
    if (auto status = save(globals); !status) return status;
    KP_CUDA(cuda_, cuEventCreate, &start_, CU_EVENT_DEFAULT);
    KP_CUDA(cuda_, cuEventCreate, &end_, CU_EVENT_DEFAULT);
    unsigned count = 0;
    KP_CUDA(cuda_, cuModuleGetFunctionCount, &count, module_);
    functions_.resize(count);
    if (count > 0) KP_CUDA(cuda_, cuModuleEnumerateFunctions, functions_.data(), count, module_);
    for (const auto& step : plan.steps) {
      auto packed = std::visit([&](const auto& s) { return pack(s, plan, addresses); }, step);
      if (!packed) return tl::make_unexpected(packed.error());
      steps_.push_back(std::move(*packed));
    }
    // The first kernel depends on nothing of the plan: it must not start before what comes ahead of
    // the plan (the flush, the first event) has ended.
    if (!steps_.empty())
      if (auto* first = std::get_if<PackedLaunch>(&steps_.front()))
        std::erase_if(first->attributes, [](const CUlaunchAttribute& a) {
          return a.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
        });
    for (auto& step : steps_) {  // only now do the vectors stay where they are
      if (auto* launch = std::get_if<PackedLaunch>(&step)) {
        for (auto& value : launch->values) launch->pointers.push_back(value.data());
        launch->config.attrs = launch->attributes.empty() ? nullptr : launch->attributes.data();
        launch->config.numAttrs = static_cast<unsigned>(launch->attributes.size());
        launch->config.hStream = cuda_.stream;
      }
    }
    return {};
  }

  DeviceStatus run() override {
    if (auto status = launch(LaunchMode::stream); !status) return status;
    if (auto status = wait(); !status) return status;
    return let_lines_go();
  }

  DeviceStatus enqueue(LaunchMode mode, int times) override {
    for (int i = 0; i < times; ++i)
      if (auto status = launch(mode); !status) return status;
    return {};
  }

  DeviceStatus wait() override {
    KP_CUDA(cuda_, cuStreamSynchronize, cuda_.stream);
    return {};
  }

  DeviceResult<double> time_once(LaunchMode mode, Sample sample) override {
    if (mode == LaunchMode::graph && graph_ == nullptr) {
      if (auto status = capture(); !status) return tl::make_unexpected(status.error());
    }
    // Whatever it is, it runs for tens of microseconds, so the work behind it is queued by then.
    auto before = sample == Sample::warm ? launch(mode) : flush();
    if (!before) return tl::make_unexpected(before.error());
    if (sample == Sample::wall)
      if (auto status = wait(); !status) return tl::make_unexpected(status.error());
    Stopwatch watch;
    KP_CUDA(cuda_, cuEventRecord, start_, cuda_.stream);
    if (auto status = launch(mode); !status) return tl::make_unexpected(status.error());
    KP_CUDA(cuda_, cuEventRecord, end_, cuda_.stream);
    KP_CUDA(cuda_, cuEventSynchronize, end_);
    double wall_ms = watch.seconds() * 1e3;
    float ms = 0;
    KP_CUDA(cuda_, cuEventElapsedTime, &ms, start_, end_);
    event_ms_ = static_cast<double>(ms);
    if (auto status = let_lines_go(); !status) return tl::make_unexpected(status.error());
    return sample == Sample::wall ? wall_ms : event_ms_;
  }

  double event_ms() const override { return event_ms_; }

  DeviceStatus restore() override {
    for (const Global& g : globals_)
      KP_CUDA(cuda_, cuMemcpyDtoDAsync, g.address, g.saved, g.bytes, cuda_.stream);
    return wait();
  }

 private:
  DeviceStatus save(const std::vector<std::string>& names) {
    std::size_t total = 0;
    for (const std::string& name : names) {
      Global g;
      if (cuda_.driver.cuModuleGetGlobal(&g.address, &g.bytes, module_, name.c_str()) !=
          CUDA_SUCCESS)
        return tl::make_unexpected(plan_fault(fmt::format(
            "the variable {} cannot be found by the driver, so its value cannot be set back",
            name)));
      g.saved = total;
      total += (g.bytes + 15) / 16 * 16;
      globals_.push_back(g);
    }
    if (total == 0) return {};
    KP_CUDA(cuda_, cuMemAlloc, &saved_, total);
    for (Global& g : globals_) {
      g.saved += saved_;
      KP_CUDA(cuda_, cuMemcpyDtoDAsync, g.saved, g.address, g.bytes, cuda_.stream);
    }
    return wait();
  }

  // Lines that were made to persist would outlive the writes that evict all others, and would be
  // missing to whoever runs next on this device.
  DeviceStatus let_lines_go() {
    KP_CUDA(cuda_, cuCtxResetPersistingL2Cache);
    return {};
  }

  DeviceStatus flush() {
    if (auto status = let_lines_go(); !status) return status;
    KP_CUDA(cuda_, cuMemsetD32Async, cuda_.flush, flush_value_++, cuda_.flush_bytes / 4,
            cuda_.stream);
    return {};
  }

  DeviceStatus launch(LaunchMode mode) {
    if (mode == LaunchMode::stream) return launch_steps();
    if (graph_ == nullptr)
      if (auto status = capture(); !status) return status;
    KP_CUDA(cuda_, cuGraphLaunch, graph_, cuda_.stream);
    return {};
  }

  DeviceResult<CUfunction> find(const KernelLaunch& launch) const {
    for (CUfunction f : functions_) {
      const char* name = nullptr;
      KP_CUDA(cuda_, cuFuncGetName, &name, f);
      if (names_kernel(launch.kernel, name)) return f;
    }
    return tl::make_unexpected(
        plan_fault(fmt::format("{}: the module has no such kernel", launch.where)));
  }

  DeviceResult<std::vector<std::uint8_t>> argument(const ResolvedArg& arg, const ResolvedPlan& plan,
                                                   const Addresses& addresses) const {
    if (const auto* value = std::get_if<ValueArg>(&arg)) return value->bytes;
    if (const auto* pointer = std::get_if<PointerArg>(&arg)) {
      auto it = addresses.find(pointer->name);
      if (it == addresses.end())
        return tl::make_unexpected(plan_fault(fmt::format("{} has no memory", pointer->name)));
      std::vector<std::uint8_t> bytes(sizeof(DevicePtr));
      std::memcpy(bytes.data(), &it->second, bytes.size());
      return bytes;
    }
    const std::string& name = std::get<TensorMapArg>(arg).name;
    for (const auto& map : plan.tensor_maps) {
      if (map.name != name) continue;
      auto it = addresses.find(map.tensor);
      if (it == addresses.end())
        return tl::make_unexpected(plan_fault(fmt::format("{} has no memory", map.tensor)));
      auto encoded = encode_tensor_map(cuda_, map, it->second);
      if (!encoded) return tl::make_unexpected(encoded.error());
      std::vector<std::uint8_t> bytes(sizeof(CUtensorMap));
      std::memcpy(bytes.data(), &*encoded, bytes.size());
      return bytes;
    }
    return tl::make_unexpected(plan_fault(fmt::format("there is no tensor map {}", name)));
  }

  DeviceResult<PackedStep> pack(const KernelLaunch& launch, const ResolvedPlan& plan,
                                const Addresses& addresses) const {
    auto function = find(launch);
    if (!function) return tl::make_unexpected(function.error());
    PackedLaunch packed;
    packed.function = *function;
    packed.where = launch.where;
    for (std::size_t i = 0; i < launch.args.size(); ++i) {
      auto bytes = argument(launch.args[i], plan, addresses);
      if (!bytes) return tl::make_unexpected(bytes.error());
      std::size_t offset = 0;
      std::size_t size = 0;
      if (cuda_.driver.cuFuncGetParamInfo(*function, i, &offset, &size) != CUDA_SUCCESS ||
          size != bytes->size())
        return tl::make_unexpected(
            plan_fault(fmt::format("{}: argument {} has {} bytes, the kernel's parameter has {}",
                                   launch.where, i, bytes->size(), size)));
      packed.values.push_back(std::move(*bytes));
    }
    if (std::size_t o = 0, s = 0;
        cuda_.driver.cuFuncGetParamInfo(*function, launch.args.size(), &o, &s) == CUDA_SUCCESS)
      return tl::make_unexpected(plan_fault(fmt::format("{}: {} arguments, the kernel takes more",
                                                        launch.where, launch.args.size())));
    CUlaunchConfig& c = packed.config;
    c.gridDimX = launch.grid[0];
    c.gridDimY = launch.grid[1];
    c.gridDimZ = launch.grid[2];
    c.blockDimX = launch.block[0];
    c.blockDimY = launch.block[1];
    c.blockDimZ = launch.block[2];
    c.sharedMemBytes = launch.dynamic_smem;
    if (auto status = set_attributes(launch, packed); !status)
      return tl::make_unexpected(status.error());
    return packed;
  }

  DeviceStatus set_attributes(const KernelLaunch& launch, PackedLaunch& packed) const {
    if (launch.dynamic_smem > 0)
      KP_CUDA(cuda_, cuFuncSetAttribute, packed.function,
              CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
              static_cast<int>(launch.dynamic_smem));
    if (launch.cluster[0] * launch.cluster[1] * launch.cluster[2] > 1) {
      if (launch.cluster[0] * launch.cluster[1] * launch.cluster[2] > 8)
        KP_CUDA(cuda_, cuFuncSetAttribute, packed.function,
                CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
      CUlaunchAttribute a{};
      a.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
      a.value.clusterDim.x = launch.cluster[0];
      a.value.clusterDim.y = launch.cluster[1];
      a.value.clusterDim.z = launch.cluster[2];
      packed.attributes.push_back(a);
    }
    if (launch.cooperative) {
      CUlaunchAttribute a{};
      a.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
      a.value.cooperative = 1;
      packed.attributes.push_back(a);
    }
    if (launch.programmatic_dependent_launch) {
      CUlaunchAttribute a{};
      a.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
      a.value.programmaticStreamSerializationAllowed = 1;
      packed.attributes.push_back(a);
    }
    return {};
  }

  DeviceResult<PackedStep> pack(const MemsetStep& step, const ResolvedPlan&,
                                const Addresses& addresses) const {
    auto it = addresses.find(step.target);
    if (it == addresses.end())
      return tl::make_unexpected(plan_fault(fmt::format("{} has no memory", step.target)));
    return PackedMemset{it->second, step.value, static_cast<std::size_t>(step.bytes)};
  }

  DeviceResult<PackedStep> pack(const CopyStep& step, const ResolvedPlan&,
                                const Addresses& addresses) const {
    auto from = addresses.find(step.from);
    auto to = addresses.find(step.to);
    if (from == addresses.end() || to == addresses.end())
      return tl::make_unexpected(
          plan_fault(fmt::format("copy {} to {}: one has no memory", step.from, step.to)));
    return PackedCopy{from->second, to->second, static_cast<std::size_t>(step.bytes)};
  }

  DeviceStatus launch_steps() {
    for (auto& step : steps_) {
      if (auto* launch = std::get_if<PackedLaunch>(&step)) {
        CUresult rc = cuda_.driver.cuLaunchKernelEx(&launch->config, launch->function,
                                                    launch->pointers.data(), nullptr);
        if (rc != CUDA_SUCCESS) {
          DeviceFault fault = fault_of(cuda_.driver, rc, launch->where);
          // A refused launch is the plan's doing.
          if (fault.kind == DeviceFault::Kind::environment) fault.kind = DeviceFault::Kind::plan;
          return tl::make_unexpected(fault);
        }
      } else if (auto* set = std::get_if<PackedMemset>(&step)) {
        KP_CUDA(cuda_, cuMemsetD8Async, set->target, set->value, set->bytes, cuda_.stream);
      } else {
        const auto& copy = std::get<PackedCopy>(step);
        KP_CUDA(cuda_, cuMemcpyDtoDAsync, copy.to, copy.from, copy.bytes, cuda_.stream);
      }
    }
    return {};
  }

  DeviceStatus capture() {
    KP_CUDA(cuda_, cuStreamBeginCapture, cuda_.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    DeviceStatus queued = launch_steps();
    CUgraph graph = nullptr;
    CUresult rc = cuda_.driver.cuStreamEndCapture(cuda_.stream, &graph);
    if (!queued) {
      if (graph != nullptr) cuda_.driver.cuGraphDestroy(graph);
      return queued;
    }
    if (rc != CUDA_SUCCESS)
      return tl::make_unexpected(fault_of(cuda_.driver, rc, "cuStreamEndCapture"));
    rc = cuda_.driver.cuGraphInstantiate(&graph_, graph, 0);
    cuda_.driver.cuGraphDestroy(graph);
    if (rc != CUDA_SUCCESS)
      return tl::make_unexpected(fault_of(cuda_.driver, rc, "cuGraphInstantiate"));
    return {};
  }

  const CudaContext& cuda_;
  CUmodule module_ = nullptr;
  std::vector<CUfunction> functions_;
  std::vector<PackedStep> steps_;
  std::vector<Global> globals_;
  CUdeviceptr saved_ = 0;  // one allocation for all of them
  CUgraphExec graph_ = nullptr;
  CUevent start_ = nullptr;
  CUevent end_ = nullptr;
  double event_ms_ = 0;
  unsigned flush_value_ = 1;
};

}  // namespace

DeviceResult<std::unique_ptr<Device::Program>> load_program(
    const CudaContext& cuda, std::string_view cubin, const ResolvedPlan& plan,
    const Addresses& addresses, const std::vector<std::string>& globals) {
  auto program = std::make_unique<CudaProgram>(cuda);
  if (auto status = program->prepare(cubin, plan, addresses, globals); !status)
    return tl::make_unexpected(status.error());
  return std::unique_ptr<Device::Program>(std::move(program));
}

}  // namespace kp
