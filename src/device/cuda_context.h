#pragma once
// What the CUDA implementation of Device shares between its files: the driver, one stream, the
// memory that flushes the L2.
#include "device/device.h"
#include "device/driver.h"

namespace kp {

struct CudaContext {
  Driver driver;
  DeviceInfo info;
  CUstream stream = nullptr;
  CUdeviceptr flush = 0;  // twice the L2
  std::size_t flush_bytes = 0;
};

Result<CudaContext> open_context(int index);

// A driver's error code as a fault: what the candidate did, or the environment.
DeviceFault fault_of(const Driver& driver, CUresult code, std::string_view call);

}  // namespace kp

// KP_CUDA(context, function, arguments...): returns the fault from this function when it fails.
#define KP_CUDA(context, function, ...)                                                   \
  do {                                                                                    \
    if (CUresult kp_rc_ = (context).driver.function(__VA_ARGS__); kp_rc_ != CUDA_SUCCESS) \
      return tl::make_unexpected(fault_of((context).driver, kp_rc_, #function));          \
  } while (false)
