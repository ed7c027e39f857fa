#pragma once
// The management library (NVML), loaded at run time: clocks, temperature, power, why the clocks are
// low, and the energy counter.
#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"

namespace kp {

// One look at the device. Numbers that it does not give are 0.
struct Telemetry {
  double sm_mhz = 0;
  double memory_mhz = 0;
  double temperature_c = 0;
  double power_w = 0;
  std::vector<std::string> throttle;  // why the clocks are held low: "power cap", "thermal", ...

  // Held low by heat or by the board: a sample taken then says little of the kernel. The power cap
  // is not of these: heavy kernels meet it always.
  bool slowed() const;
};

Json to_json(const Telemetry& telemetry);
Telemetry telemetry_from_json(const Json& json);

// Names of the bits of nvmlDeviceGetCurrentClocksEventReasons; idle clocks and settings of the user
// are no throttling.
std::vector<std::string> throttle_reasons(std::uint64_t bits);

class Nvml {
 public:
  // `uuid`: 32 hex digits, as DeviceInfo has it.
  static Result<Nvml> open(const std::string& uuid);

  Telemetry look() const;
  // Joules since the driver was loaded. It steps about every 100 ms on recent parts. Error where
  // the device has no such counter.
  Result<double> energy_j() const;

 private:
  struct Functions;
  const Functions* functions_ = nullptr;
  void* device_ = nullptr;
};

}  // namespace kp
