#include "verdict/device_compare.h"

#include <algorithm>

#include "verdict/support.h"

namespace kp {

namespace {

const char* kernel_for(DType type) {
  switch (type) {
    case DType::f64:
      return "kp_compare_f64";
    case DType::f32:
      return "kp_compare_f32";
    case DType::f16:
      return "kp_compare_f16";
    case DType::bf16:
      return "kp_compare_bf16";
    default:
      return nullptr;
  }
}

DeviceResult<ErrorSums> run(Device& device, std::string_view cubin, KernelLaunch launch,
                            Addresses addresses) {
  ResolvedPlan plan;
  plan.steps.emplace_back(MemsetStep{"sums", 0, sizeof(ErrorSums)});
  plan.steps.emplace_back(std::move(launch));
  auto program = device.load(cubin, plan, addresses);
  if (!program) return tl::make_unexpected(program.error());
  if (auto s = (*program)->run(); !s) return tl::make_unexpected(s.error());
  ErrorSums sums;
  if (auto s = device.download(&sums, addresses["sums"], sizeof sums); !s)
    return tl::make_unexpected(s.error());
  return sums;
}

}  // namespace

bool sums_on_device(DType type) {
  return kernel_for(type) != nullptr;
}

DeviceResult<ErrorSums> sum_errors(Device& device, std::string_view support_cubin, DType type,
                                   DevicePtr truth, DevicePtr out, std::uint64_t count) {
  auto sums = device.allocate(sizeof(ErrorSums));
  if (!sums) return tl::make_unexpected(sums.error());
  auto most = static_cast<std::uint64_t>(device.info().sms) * 8;
  auto blocks = static_cast<std::uint32_t>(std::min(most, count / 1024 + 1));
  KernelLaunch launch = support_launch(kernel_for(type), blocks, 256,
                                       {PointerArg{"truth"}, PointerArg{"out"},
                                        value_arg<std::uint64_t>(count), PointerArg{"sums"}});
  auto found = run(device, support_cubin, std::move(launch),
                   {{"truth", truth}, {"out", out}, {"sums", *sums}});
  device.free(*sums);
  return found;
}

}  // namespace kp
