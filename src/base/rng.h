#pragma once
// Random numbers: secret seeds from the system, and a small generator whose state can be
// journalled.
#include <cstdint>

namespace kp {

std::uint64_t secret_seed();  // from getrandom(2); below 2^62, so that JSON and Python take it

// splitmix64 (Steele, Lea, Flood 2014): a bijective mixing of a counter, so draw i of a seed can be
// taken without the draws before it.
constexpr std::uint64_t mix64(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

class Rng {
 public:
  explicit Rng(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() { return mix64(state_++); }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }  // [0, 1)
  std::uint64_t below(std::uint64_t n) { return n == 0 ? 0 : next() % n; }

 private:
  std::uint64_t state_;
};

}  // namespace kp
