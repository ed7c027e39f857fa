#pragma once
// The roofline stage: what must the task cost at least, and what bounds it? Pure functions.
#include "profile/profile.h"

namespace kp {

// By theory alone, from the task. Precision decides the matrix ceiling: strict uses FP32 (or
// 3xTF32, a third of TF32, where that is higher), tf32 uses TF32, half uses BF16; tensors that are
// f16/bf16 already use their own.
Roofline roofline_of(const Work& work, const Ceilings& ceilings, Precision precision);

// Adds the measured class from the dominant kernel's counters; theory wins when they differ, and
// `why` says so. Without theory the measurement decides.
void add_measurement(Profile& profile);

}  // namespace kp
