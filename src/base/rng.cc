#include "base/rng.h"

#include <sys/random.h>

#include "base/result.h"

namespace kp {

std::uint64_t secret_seed() {
  std::uint64_t value = 0;
  KP_CHECK(::getrandom(&value, sizeof value, 0) == sizeof value);
  return value >> 2;
}

}  // namespace kp
