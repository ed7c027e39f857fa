#include "verdict/support.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/assets.h"
#include "base/clock.h"

namespace kp {

Result<fs::path> build_support(const std::string& arch) {
  Candidate support;
  support.source = asset("cuda/support.cu");
  support.name = "support.cu";
  support.id = "support";
  BuildOptions options;
  options.arch = arch;
  KP_ASSIGN(Build built, build(support, options));
  if (!built.ok)
    return fail("the runner's own kernels do not compile for " + arch + ":\n" +
                    describe_diagnostics(built, 5),
                "kernelpro doctor shows which NVRTC and headers are used");
  return built.cubin;
}

KernelLaunch support_launch(std::string kernel, std::uint32_t blocks, std::uint32_t threads,
                            std::vector<ResolvedArg> args) {
  KernelLaunch launch;
  launch.where = kernel;
  launch.kernel = std::move(kernel);
  launch.grid = {blocks, 1, 1};
  launch.block = {threads, 1, 1};
  launch.args = std::move(args);
  return launch;
}

namespace {

constexpr int kSamples = 7;

class Bench {
 public:
  Bench(Device& device, std::string_view cubin, Addresses addresses)
      : device_(device), cubin_(cubin), addresses_(std::move(addresses)) {}

  // Least time in ms of a plan over a few samples: a ceiling is the best that the device can do.
  DeviceResult<double> best_ms(std::vector<ResolvedStep> steps) {
    ResolvedPlan plan;
    plan.steps = std::move(steps);
    auto program = device_.load(cubin_, plan, addresses_);
    if (!program) return tl::make_unexpected(program.error());
    double best = 1e30;
    for (int i = 0; i < kSamples; ++i) {
      auto ms = (*program)->time_once(LaunchMode::stream);
      if (!ms) return tl::make_unexpected(ms.error());
      best = std::min(best, *ms);
    }
    return best;
  }

 private:
  Device& device_;
  std::string_view cubin_;
  Addresses addresses_;
};

#define KP_FAULT(lhs, expr)                                          \
  auto KP_CONCAT(fault_, __LINE__) = (expr);                         \
  if (!KP_CONCAT(fault_, __LINE__))                                  \
    return tl::make_unexpected(KP_CONCAT(fault_, __LINE__).error()); \
  lhs = *KP_CONCAT(fault_, __LINE__)

DeviceResult<Ceilings> run_ceilings(Device& device, std::string_view cubin, DevicePtr from,
                                    DevicePtr to, std::int64_t bytes) {
  const DeviceInfo& info = device.info();
  auto sms = static_cast<std::uint32_t>(info.sms);
  Bench bench(device, cubin, {{"from", from}, {"to", to}});
  Ceilings c;
  auto quads = static_cast<std::uint64_t>(bytes / 16);
  KP_FAULT(
      double filled,
      bench.best_ms({support_launch("kp_random", sms * 8, 256,
                                    {PointerArg{"from"}, value_arg<std::uint64_t>(quads * 4)})}));
  (void)filled;
  KP_FAULT(double copy_ms, bench.best_ms({support_launch("kp_copy", sms * 16, 512,
                                                         {PointerArg{"from"}, PointerArg{"to"},
                                                          value_arg<std::uint64_t>(quads)})}));
  KP_FAULT(double driver_copy_ms, bench.best_ms({CopyStep{"from", "to", bytes}}));
  c.dram_gbs = 2.0 * static_cast<double>(bytes) / (std::min(copy_ms, driver_copy_ms) * 1e6);

  // A quarter of the L2: on parts with two L2 halves each address then lies in the near one as
  // well.
  auto l2_quads = static_cast<std::uint64_t>(info.l2_bytes / 4 / 16);
  int l2_rounds = 32;
  KP_FAULT(double l2_ms,
           bench.best_ms({support_launch("kp_read_l2", sms * 2, 512,
                                         {PointerArg{"from"}, value_arg<std::uint64_t>(l2_quads),
                                          value_arg<int>(l2_rounds), PointerArg{"to"}})}));
  c.l2_gbs = 2.0 * sms * l2_rounds * 16.0 * static_cast<double>(l2_quads) / (l2_ms * 1e6);

  auto tflops = [&](const char* kernel, std::uint32_t blocks, double flops_round_thread,
                    std::vector<ResolvedArg> args, int rounds) -> DeviceResult<double> {
    auto ms = bench.best_ms({support_launch(kernel, blocks, 256, std::move(args))});
    if (!ms) return tl::make_unexpected(ms.error());
    return flops_round_thread * 256.0 * blocks * rounds / (*ms * 1e9);
  };
  KP_FAULT(c.fp32_tflops,
           tflops("kp_fma32", sms * 8, 256,
                  {value_arg<float>(0.999F), value_arg<int>(2000), PointerArg{"to"}}, 2000));
  KP_FAULT(c.fp64_tflops,
           tflops("kp_fma64", sms * 8, 256,
                  {value_arg<double>(0.999), value_arg<int>(200), PointerArg{"to"}}, 200));
  bool wgmma = info.cc_major == 9;
  // wgmma: 4 products of 64x256 and 32 bytes of K a warpgroup; mma.sync: 8 of 16x8 a warp.
  double k_products = wgmma ? 4.0 * 2 * 64 * 256 / 128 : 8.0 * 2 * 16 * 8 / 32;
  std::uint32_t blocks = wgmma ? sms : sms * 4;
  int rounds = wgmma ? 4000 : 20000;
  auto args = [&] { return std::vector<ResolvedArg>{value_arg<int>(rounds), PointerArg{"to"}}; };
  KP_FAULT(c.tf32_tflops, tflops("kp_tensor_tf32", blocks, k_products * 8, args(), rounds));
  KP_FAULT(c.bf16_tflops, tflops("kp_tensor_bf16", blocks, k_products * 16, args(), rounds));
  KP_FAULT(c.fp16_tflops, tflops("kp_tensor_fp16", blocks, k_products * 16, args(), rounds));

  std::vector<ResolvedStep> empties;
  for (int i = 0; i < 200; ++i) empties.emplace_back(support_launch("kp_empty", 1, 32, {}));
  KP_FAULT(double launch_ms, bench.best_ms(std::move(empties)));
  c.launch_us = launch_ms * 1000 / 200;
  c.measured = fmt::format("{}, driver {}", utc_time(), info.driver);
  return c;
}

}  // namespace

DeviceResult<Ceilings> measure_ceilings(Device& device, std::string_view support_cubin) {
  std::int64_t bytes = std::min<std::int64_t>(std::int64_t{1} << 30, device.free_bytes() / 4);
  bytes -= bytes % 4096;
  KP_FAULT(DevicePtr from, device.allocate(bytes));
  auto to = device.allocate(bytes);
  if (!to) {
    device.free(from);
    return tl::make_unexpected(to.error());
  }
  auto result = run_ceilings(device, support_cubin, from, *to, bytes);
  device.free(from);
  device.free(*to);
  return result;
}

}  // namespace kp
