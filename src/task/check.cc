#include "task/check.h"

#include <fmt/format.h>

#include <algorithm>

namespace kp {

bool is_identifier(std::string_view name) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  if (name.empty() || name.size() > 128 || !letter(name[0])) return false;
  return std::all_of(name.begin(), name.end(),
                     [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

Status check_identifier(std::string_view name, std::string_view where) {
  if (is_identifier(name)) return {};
  return fail(fmt::format("{}: \"{}\" is not a name", where, name),
              "names are letters, digits and _, and do not start with a digit");
}

Status check_tensor(const TensorSpec& tensor, std::string_view where) {
  constexpr double kMaxBytes = 281474976710656.0;  // 2^48: far from overflow in all later sums
  KP_TRY(check_identifier(tensor.name, where));
  if (tensor.shape.size() != tensor.strides.size())
    return fail(fmt::format("{}: {} extents but {} strides", where, tensor.shape.size(),
                            tensor.strides.size()));
  if (tensor.shape.size() > 64)
    return fail(fmt::format("{}: {} dimensions (at most 64)", where, tensor.shape.size()));
  double elements = 1;
  double last = 0;
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    if (tensor.shape[i] < 0)
      return fail(fmt::format("{}: extent {} is {}", where, i, tensor.shape[i]));
    if (tensor.strides[i] < 0)
      return fail(fmt::format("{}: stride {} is {}", where, i, tensor.strides[i]));
    // An extent of 0 must not hide a product of the others that overflows.
    elements *= static_cast<double>(std::max<std::int64_t>(tensor.shape[i], 1));
    last += static_cast<double>(std::max<std::int64_t>(tensor.shape[i] - 1, 0)) *
            static_cast<double>(tensor.strides[i]);
  }
  auto bytes = static_cast<double>(size_of(tensor.dtype));
  if (elements * bytes >= kMaxBytes || (last + 1) * bytes >= kMaxBytes)
    return fail(fmt::format("{}: larger than 2^48 bytes", where));
  return {};
}

std::vector<std::int64_t> dense_strides(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t dense = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = dense;
    dense *= std::max<std::int64_t>(shape[i], 1);
  }
  return strides;
}

}  // namespace kp
