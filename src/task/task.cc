#include "task/task.h"

#include <fmt/format.h>

#include "base/text.h"

namespace kp {

std::int64_t TensorSpec::elements() const {
  std::int64_t product = 1;
  for (std::int64_t extent : shape) product *= extent;
  return product;
}

std::int64_t TensorSpec::storage_bytes() const {
  if (elements() == 0) return 0;
  std::int64_t last = 0;  // offset of the last element
  for (std::size_t i = 0; i < shape.size(); ++i) last += (shape[i] - 1) * strides[i];
  return (last + 1) * static_cast<std::int64_t>(size_of(dtype));
}

bool TensorSpec::contiguous() const {
  if (elements() == 0) return true;
  std::int64_t dense = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (shape[i] != 1 && strides[i] != dense) return false;  // stride of extent 1 is never used
    dense *= shape[i];
  }
  return true;
}

std::string_view name_of(Precision precision) {
  switch (precision) {
    case Precision::strict:
      return "strict";
    case Precision::tf32:
      return "tf32";
    case Precision::half:
      return "half";
  }
  KP_CHECK(!"every precision has a name");
}

Result<Precision> parse_precision(std::string_view name) {
  for (Precision p : {Precision::strict, Precision::tf32, Precision::half}) {
    if (name_of(p) == name) return p;
  }
  return fail(fmt::format("unknown precision \"{}\"", name), "allowed: strict, tf32, half");
}

const TensorSpec* Task::find_tensor(std::string_view tensor_name) const {
  for (const auto& tensor : tensors) {
    if (tensor.name == tensor_name) return &tensor;
  }
  return nullptr;
}

void add_tensor_sizes(Task& task) {
  for (const auto& tensor : task.tensors) {
    for (std::size_t i = 0; i < tensor.shape.size(); ++i)
      task.sizes.try_emplace(fmt::format("{}_d{}", tensor.name, i), tensor.shape[i]);
    task.sizes.try_emplace(tensor.name + "_numel", tensor.elements());
  }
}

}  // namespace kp
