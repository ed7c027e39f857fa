#include "profile/profile.h"

#include <fmt/format.h>

#include <array>

namespace kp {

std::string_view name_of(BoundClass bound) {
  switch (bound) {
    case BoundClass::memory:
      return "memory";
    case BoundClass::compute:
      return "compute";
    default:
      return "latency";
  }
}

Result<BoundClass> parse_bound(std::string_view name) {
  for (BoundClass b : {BoundClass::memory, BoundClass::compute, BoundClass::latency}) {
    if (name == name_of(b)) return b;
  }
  return fail(fmt::format("roofline: no class \"{}\" (memory, compute, latency)", name));
}

std::optional<double> KernelProfile::get(Metric metric) const {
  auto it = metrics.find(metric);
  return it == metrics.end() ? std::nullopt : std::optional(it->second.value);
}

double Profile::total_us() const {
  double sum = 0;
  for (const KernelProfile& k : kernels) sum += k.get(Metric::duration_us).value_or(0);
  return sum;
}

const KernelProfile* Profile::dominant() const {
  const KernelProfile* longest = nullptr;
  double most = -1;
  for (const KernelProfile& k : kernels) {
    double us = k.get(Metric::duration_us).value_or(0);
    if (us > most) {
      most = us;
      longest = &k;
    }
  }
  return longest;
}

}  // namespace kp
