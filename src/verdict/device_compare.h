#pragma once
// Sums an output's errors where it lies: on the device, in one pass (assets/cuda/support.cu).
#include <optional>

#include "device/device.h"
#include "task/dtype.h"

namespace kp {

struct ErrorSums {
  double squares = 0;  // NaN or infinite where an element is not finite
  double max_abs = 0;  // NaN likewise
};

// Whether there is a kernel for outputs of this type.
bool sums_on_device(DType type);

// `truth`: `count` doubles; `out`: as many elements of `type`. Both dense, in the same order.
DeviceResult<ErrorSums> sum_errors(Device& device, std::string_view support_cubin, DType type,
                                   DevicePtr truth, DevicePtr out, std::uint64_t count);

}  // namespace kp
