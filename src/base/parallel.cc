#include "base/parallel.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace kp {

void parallel(std::size_t n,
              const std::function<void(std::size_t, std::size_t, std::size_t)>& body) {
  constexpr std::size_t kWorthThreads = 1U << 16;
  const std::size_t parts = n < kWorthThreads ? 1 : kParallelParts;
  std::atomic<std::size_t> next{0};
  auto work = [&] {
    for (std::size_t part = next++; part < parts; part = next++)
      body(part, n / parts * part + std::min(part, n % parts),
           n / parts * (part + 1) + std::min(part + 1, n % parts));
  };
  std::size_t workers =
      std::min<std::size_t>(parts, std::max(1U, std::thread::hardware_concurrency()));
  std::vector<std::jthread> threads;
  for (std::size_t w = 1; w < workers; ++w) threads.emplace_back(work);
  work();
}

}  // namespace kp
