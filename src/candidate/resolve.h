#pragma once
// Plan + Task → numbers that a device can launch, with every name and expression checked.
#include <array>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "candidate/plan.h"
#include "task/task.h"

namespace kp {

using Dim3 = std::array<std::uint32_t, 3>;

struct ResolvedBuffer {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::int64_t bytes = 0;
};

struct ResolvedTensorMap {
  std::string name;
  std::string tensor;  // tensor or buffer
  DType dtype = DType::f32;
  std::vector<std::uint64_t> dims;          // innermost first, elements
  std::vector<std::uint64_t> stride_bytes;  // of dims 1..
  std::vector<std::uint32_t> box;
  std::string swizzle, l2_promotion, interleave;
  bool nan_fill = false;
};

struct PointerArg {
  std::string name;  // tensor or buffer
};
struct TensorMapArg {
  std::string name;
};
struct ValueArg {
  std::vector<std::uint8_t> bytes;  // little-endian, of the type's size
  std::string text;                 // as written, for messages
};
using ResolvedArg = std::variant<PointerArg, TensorMapArg, ValueArg>;

struct KernelLaunch {
  std::string kernel;
  Dim3 grid{1, 1, 1}, block{1, 1, 1}, cluster{1, 1, 1};
  std::uint32_t dynamic_smem = 0;
  bool cooperative = false, programmatic_dependent_launch = false;
  std::vector<ResolvedArg> args;
  std::string where;  // "step 2 (row_max)", for messages
};
struct MemsetStep {
  std::string target;
  std::uint8_t value = 0;
  std::int64_t bytes = 0;  // of the target's storage
};
struct CopyStep {
  std::string from, to;
  std::int64_t bytes = 0;
};
using ResolvedStep = std::variant<KernelLaunch, MemsetStep, CopyStep>;

struct ResolvedPlan {
  std::vector<ResolvedBuffer> buffers;
  std::vector<ResolvedTensorMap> tensor_maps;
  std::vector<ResolvedStep> steps;  // repeats unrolled
};

// promote_real: floating tensors and buffers and "real:" values become f64 (a native task's truth
// run).
// Refused: unknown names (the nearest known one is named), outputs that no step takes, writes by
// memset or copy to an input, more than 100,000 steps after unrolling, buffers over 64 GiB.
Result<ResolvedPlan> resolve(const Plan& plan, const Task& task, bool promote_real = false);

// What a device allows, for the checks before any launch.
struct LaunchLimits {
  std::uint32_t max_threads_per_block = 1024;
  Dim3 max_block{1024, 1024, 64};
  Dim3 max_grid{2147483647, 65535, 65535};
  std::uint32_t max_dynamic_smem = 49152;  // with opt-in; static shared memory comes off it
  std::uint32_t max_cluster = 8;
  std::int64_t memory_bytes = 0;  // 0: unknown
};

// Kernel's own parameter table, from its cubin (build/cubin.h) or the driver.
struct KernelParams {
  std::string kernel;
  std::vector<std::uint32_t> sizes;  // bytes of each parameter
  std::uint32_t max_threads = 0;     // launch bound of the kernel; 0: none
  std::uint32_t static_smem = 0;     // bytes
};

// Checks every launch: kernel exists (nearest name otherwise), argument count and sizes, block
// against the kernel's and the device's limits, shared memory, cluster divides grid. The Error
// names the step, the argument and both numbers.
Status check_plan(const ResolvedPlan& plan, const std::vector<KernelParams>& kernels,
                  const LaunchLimits& limits);

Json to_json(const ResolvedPlan& plan);  // travels to the runner
Result<ResolvedPlan> resolved_plan_from_json(const Json& json);

}  // namespace kp
