#pragma once
// The program's own kernels on a device (assets/cuda/support.cu): checksums and ceilings.
#include "build/build.h"
#include "device/device.h"

namespace kp {

// Builds assets/cuda/support.cu for `arch` (from the cache after the first time).
Result<fs::path> build_support(const std::string& arch);

// One launch of a support kernel.
KernelLaunch support_launch(std::string kernel, std::uint32_t blocks, std::uint32_t threads,
                            std::vector<ResolvedArg> args);

// Values passed to a kernel by value.
template <class T>
ValueArg value_arg(T value) {
  ValueArg arg;
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(&value);
  arg.bytes.assign(bytes, bytes + sizeof value);
  return arg;
}

// Measures every ceiling; takes about a second and up to 2 GiB.
DeviceResult<Ceilings> measure_ceilings(Device& device, std::string_view support_cubin);

}  // namespace kp
