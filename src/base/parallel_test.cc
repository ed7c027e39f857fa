#include "base/parallel.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace kp {
namespace {

TEST(Parallel, CoversEveryPlaceOnceInConsecutiveRanges) {
  for (std::size_t n : {0UL, 1UL, 65535UL, 65536UL, 1000003UL}) {
    std::vector<int> seen(n, 0);
    std::array<std::pair<std::size_t, std::size_t>, kParallelParts> ranges{};
    parallel(n, [&](std::size_t part, std::size_t from, std::size_t to) {
      ranges[part] = {from, to};
      for (std::size_t i = from; i < to; ++i) ++seen[i];
    });
    for (int count : seen) ASSERT_EQ(count, 1);
    std::size_t end = 0;
    for (const auto& [from, to] : ranges) {
      if (to == 0) continue;
      EXPECT_EQ(from, end);
      end = to;
    }
    EXPECT_EQ(end, n);
  }
}

}  // namespace
}  // namespace kp
