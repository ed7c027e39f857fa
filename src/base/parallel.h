#pragma once
// Work on [0, n) over the cores.
#include <cstddef>
#include <functional>

namespace kp {

inline constexpr std::size_t kParallelParts = 64;

// Calls body(part, from, to) for consecutive ranges that cover [0, n), some at a time; waits for
// all. The ranges depend on n alone, never on the number of cores, so sums made by part are
// repeatable. part < kParallelParts; a small n has one part.
void parallel(std::size_t n,
              const std::function<void(std::size_t part, std::size_t from, std::size_t to)>& body);

}  // namespace kp
