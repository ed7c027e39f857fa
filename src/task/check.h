#pragma once
// Checks that every way into a Task shares. `where` opens the message.
#include <string_view>

#include "task/task.h"

namespace kp {

bool is_identifier(std::string_view name);  // as in C, at most 128 characters
Status check_identifier(std::string_view name, std::string_view where);

// Name, extents and strides not negative, one stride an extent, storage below 2^48 bytes.
Status check_tensor(const TensorSpec& tensor, std::string_view where);

// Dense row-major strides; an extent of 0 counts as 1, as in PyTorch.
std::vector<std::int64_t> dense_strides(const std::vector<std::int64_t>& shape);

}  // namespace kp
