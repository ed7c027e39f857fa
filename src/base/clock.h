#pragma once
#include <chrono>
#include <string>

namespace kp {

// Seconds of a clock that never goes back.
inline double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class Stopwatch {
 public:
  double seconds() const { return now_s() - start_; }

 private:
  double start_ = now_s();
};

std::string utc_time();  // "2026-12-01T09:30:00Z"

}  // namespace kp
