// The checks of a resolved plan against compiled kernels and a device.
#include <fmt/format.h>

#include <cstdint>

#include "base/text.h"
#include "candidate/kernel_name.h"
#include "candidate/resolve.h"

namespace kp {

namespace {

constexpr std::uint32_t kPointerBytes = 8;
constexpr std::uint32_t kTensorMapBytes = 128;

Result<const KernelParams*> find_kernel(const KernelLaunch& launch,
                                        const std::vector<KernelParams>& kernels) {
  std::vector<std::string> known;
  for (const auto& kernel : kernels) {
    if (names_kernel(launch.kernel, kernel.kernel)) return &kernel;
    known.push_back(base_name(kernel.kernel));
  }
  if (known.empty())
    return fail(
        fmt::format("{}: no kernel \"{}\": the code defines none", launch.where, launch.kernel),
        "define it as extern \"C\" __global__ void; a template must be instantiated");
  std::string near = nearest(launch.kernel, known);
  return fail(fmt::format("{}: no kernel \"{}\"{}", launch.where, launch.kernel,
                          near.empty() ? "" : fmt::format(" (did you mean \"{}\"?)", near)),
              "the code defines: " + join(known, ", "));
}

std::uint32_t bytes_of(const ResolvedArg& arg) {
  if (const auto* value = std::get_if<ValueArg>(&arg))
    return static_cast<std::uint32_t>(value->bytes.size());
  return std::holds_alternative<PointerArg>(arg) ? kPointerBytes : kTensorMapBytes;
}

std::string text_of(const ResolvedArg& arg) {
  if (const auto* value = std::get_if<ValueArg>(&arg)) return value->text;
  if (const auto* pointer = std::get_if<PointerArg>(&arg)) return pointer->name;
  return std::get<TensorMapArg>(arg).name;
}

Status check_args(const KernelLaunch& launch, const KernelParams& kernel) {
  if (launch.args.size() != kernel.sizes.size())
    return fail(fmt::format("{}: {} arguments, but the kernel has {} parameters", launch.where,
                            launch.args.size(), kernel.sizes.size()));
  for (std::size_t i = 0; i < launch.args.size(); ++i) {
    std::uint32_t bytes = bytes_of(launch.args[i]);
    if (bytes == kernel.sizes[i]) continue;
    std::string hint = "the type before the colon must be the parameter's own";
    if (bytes == kPointerBytes && std::holds_alternative<PointerArg>(launch.args[i]))
      hint = "a tensor or buffer is passed as a pointer";
    if (bytes == kTensorMapBytes)
      hint = "a tensor map is passed as const __grid_constant__ cute::TmaDescriptor";
    return fail(fmt::format("{}: argument {} (\"{}\") has {} bytes, but the kernel's parameter has "
                            "{}",
                            launch.where, i + 1, text_of(launch.args[i]), bytes, kernel.sizes[i]),
                hint);
  }
  return {};
}

Status check_shape(const KernelLaunch& launch, const KernelParams& kernel,
                   const LaunchLimits& limits) {
  const auto& [bx, by, bz] = launch.block;
  std::string block = fmt::format("block {} x {} x {}", bx, by, bz);
  for (std::size_t i = 0; i < 3; ++i) {
    if (launch.block[i] > limits.max_block[i])
      return fail(fmt::format("{}: block.{} is {}, the device allows {}", launch.where, "xyz"[i],
                              launch.block[i], limits.max_block[i]));
    if (launch.grid[i] > limits.max_grid[i])
      return fail(fmt::format("{}: grid.{} is {}, the device allows {}", launch.where, "xyz"[i],
                              launch.grid[i], limits.max_grid[i]),
                  "grid.x allows the most blocks");
  }
  std::uint64_t threads = std::uint64_t{bx} * by * bz;
  if (threads > limits.max_threads_per_block)
    return fail(fmt::format("{}: {} = {} threads a block, the device allows {}", launch.where,
                            block, threads, limits.max_threads_per_block));
  if (kernel.max_threads != 0 && threads > kernel.max_threads)
    return fail(fmt::format("{}: {} = {} threads a block, the kernel was compiled for {}",
                            launch.where, block, threads, kernel.max_threads),
                "raise its __launch_bounds__, use fewer registers, or make the block smaller");
  std::uint64_t smem = std::uint64_t{kernel.static_smem} + launch.dynamic_smem;
  if (smem > limits.max_dynamic_smem)
    return fail(fmt::format(
        "{}: {} bytes of shared memory ({} static + {} dynamic), the device "
        "allows {} a block",
        launch.where, smem, kernel.static_smem, launch.dynamic_smem, limits.max_dynamic_smem));
  return {};
}

Status check_cluster(const KernelLaunch& launch, const LaunchLimits& limits) {
  std::uint64_t blocks = 1;
  for (std::size_t i = 0; i < 3; ++i) {
    blocks *= launch.cluster[i];
    if (blocks > limits.max_cluster) {
      const auto& [cx, cy, cz] = launch.cluster;
      return fail(fmt::format("{}: cluster {} x {} x {} has more blocks than the {} allowed",
                              launch.where, cx, cy, cz, limits.max_cluster));
    }
    if (launch.grid[i] % launch.cluster[i] != 0)
      return fail(fmt::format("{}: grid.{} is {}, not a multiple of cluster.{} = {}", launch.where,
                              "xyz"[i], launch.grid[i], "xyz"[i], launch.cluster[i]),
                  "round the grid up to whole clusters and let extra blocks return");
  }
  return {};
}

}  // namespace

Status check_plan(const ResolvedPlan& plan, const std::vector<KernelParams>& kernels,
                  const LaunchLimits& limits) {
  std::int64_t buffers = 0;
  for (const auto& buffer : plan.buffers) buffers += buffer.bytes;
  if (limits.memory_bytes > 0 && buffers > limits.memory_bytes)
    return fail(fmt::format("the plan's buffers need {} bytes, the device has {}", buffers,
                            limits.memory_bytes));
  for (const auto& step : plan.steps) {
    const auto* launch = std::get_if<KernelLaunch>(&step);
    if (launch == nullptr) continue;
    KP_ASSIGN(const KernelParams* kernel, find_kernel(*launch, kernels));
    KP_TRY(check_args(*launch, *kernel));
    KP_TRY(check_shape(*launch, *kernel, limits));
    KP_TRY(check_cluster(*launch, limits));
  }
  return {};
}

}  // namespace kp
