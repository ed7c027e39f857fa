#pragma once
// Tensors of native tasks on the host: drawn from a seed, converted to and from doubles.
#include <cstdint>
#include <vector>

#include "task/task.h"

namespace kp {

// Values of a tensor in storage order (native tensors are contiguous). Value i depends on the seed,
// the tensor's name and i alone. Integer types take whole numbers of the range; bool takes 0 or 1.
std::vector<double> draw_values(const TensorSpec& tensor, std::uint64_t seed);

// Rounds to the type, as the device will see it.
std::vector<std::uint8_t> encode(const std::vector<double>& values, DType type);
std::vector<double> decode(const std::vector<std::uint8_t>& bytes, DType type);

}  // namespace kp
