#pragma once
// The roofline stage: what must the task cost at least, and what bounds it? Pure functions.
#include "profile/profile.h"

namespace kp {

// By theory alone, from the task. Precision decides the matrix ceiling: strict uses FP32 (or
// 3xTF32, a third of TF32, where that is higher), tf32 uses TF32, half uses BF16; tensors that are
// f16/bf16 already use their own.
// `matmul` is the type of the matrix products' operands. Vector work is held against the FP32
// ceiling (FP64 for f64). An unmeasured ceiling (0) leaves its part 0; when the class hangs on it,
// by_theory stays empty and `why` says what is missing.
Roofline roofline_of(const Work& work, const Ceilings& ceilings, Precision precision,
                     DType matmul = DType::f32);

// Adds the measured class from the dominant kernel's counters; theory wins when they differ, and
// `why` says so. Without theory the measurement decides.
void add_measurement(Profile& profile);

// The class of one kernel by its counters; nothing when they are missing.
std::optional<BoundClass> measured_class(const KernelProfile& kernel,
                                         const std::optional<Ceilings>& ceilings);

}  // namespace kp
