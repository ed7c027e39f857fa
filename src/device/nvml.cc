#include "device/nvml.h"

#include <fmt/format.h>

#include "base/dynlib.h"

namespace kp {

// The library's own header is not everywhere; these are its documented signatures.
struct Nvml::Functions {
  int (*nvmlInit_v2)() = nullptr;
  int (*nvmlDeviceGetHandleByUUID)(const char*, void**) = nullptr;
  int (*nvmlDeviceGetClockInfo)(void*, int, unsigned*) = nullptr;
  int (*nvmlDeviceGetTemperature)(void*, int, unsigned*) = nullptr;
  int (*nvmlDeviceGetPowerUsage)(void*, unsigned*) = nullptr;
  int (*nvmlDeviceGetTotalEnergyConsumption)(void*, unsigned long long*) = nullptr;
  int (*reasons)(void*, unsigned long long*) = nullptr;
};

namespace {

constexpr int kClockSm = 1;
constexpr int kClockMemory = 2;
constexpr int kTemperatureGpu = 0;

struct Reason {
  std::uint64_t bit;
  const char* name;
  bool slows;
};
constexpr Reason kReasons[] = {{0x4, "power cap", false},
                               {0x8, "hardware slowdown", true},
                               {0x20, "thermal (software)", true},
                               {0x40, "thermal (hardware)", true},
                               {0x80, "power brake", true}};

}  // namespace

std::vector<std::string> throttle_reasons(std::uint64_t bits) {
  std::vector<std::string> names;
  for (const Reason& r : kReasons)
    if ((bits & r.bit) != 0) names.emplace_back(r.name);
  return names;
}

bool Telemetry::slowed() const {
  for (const Reason& r : kReasons)
    for (const std::string& name : throttle)
      if (r.slows && name == r.name) return true;
  return false;
}

Json to_json(const Telemetry& t) {
  return {{"sm_mhz", t.sm_mhz},
          {"memory_mhz", t.memory_mhz},
          {"temperature_c", t.temperature_c},
          {"power_w", t.power_w},
          {"throttle", t.throttle}};
}

Telemetry telemetry_from_json(const Json& json) {
  Telemetry t;
  if (!json.is_object()) return t;
  t.sm_mhz = double_or(json, "sm_mhz", 0);
  t.memory_mhz = double_or(json, "memory_mhz", 0);
  t.temperature_c = double_or(json, "temperature_c", 0);
  t.power_w = double_or(json, "power_w", 0);
  for (const auto& name : json.value("throttle", Json::array()))
    if (name.is_string()) t.throttle.push_back(name.get<std::string>());
  return t;
}

Result<Nvml> Nvml::open(const std::string& uuid) {
  if (uuid.size() != 32) return fail("NVML: the device's UUID is unknown");
  static const Result<Functions> loaded = []() -> Result<Functions> {
    KP_ASSIGN(DynLib lib, DynLib::open({"libnvidia-ml.so.1", "libnvidia-ml.so"}));
    Functions f;
    KP_TRY(lib.load(f.nvmlInit_v2, "nvmlInit_v2"));
    KP_TRY(lib.load(f.nvmlDeviceGetHandleByUUID, "nvmlDeviceGetHandleByUUID"));
    KP_TRY(lib.load(f.nvmlDeviceGetClockInfo, "nvmlDeviceGetClockInfo"));
    KP_TRY(lib.load(f.nvmlDeviceGetTemperature, "nvmlDeviceGetTemperature"));
    KP_TRY(lib.load(f.nvmlDeviceGetPowerUsage, "nvmlDeviceGetPowerUsage"));
    KP_TRY(lib.load(f.nvmlDeviceGetTotalEnergyConsumption, "nvmlDeviceGetTotalEnergyConsumption"));
    if (!lib.load(f.reasons, "nvmlDeviceGetCurrentClocksEventReasons"))
      KP_TRY(lib.load(f.reasons, "nvmlDeviceGetCurrentClocksThrottleReasons"));  // older drivers
    if (int rc = f.nvmlInit_v2(); rc != 0) return fail(fmt::format("nvmlInit_v2 gave {}", rc));
    return f;
  }();
  if (!loaded) return tl::make_unexpected(loaded.error());
  Nvml nvml;
  nvml.functions_ = &*loaded;
  std::string id = fmt::format("GPU-{}-{}-{}-{}-{}", uuid.substr(0, 8), uuid.substr(8, 4),
                               uuid.substr(12, 4), uuid.substr(16, 4), uuid.substr(20));
  if (int rc = loaded->nvmlDeviceGetHandleByUUID(id.c_str(), &nvml.device_); rc != 0)
    return fail(fmt::format("NVML does not know the device {} (code {})", id, rc));
  return nvml;
}

Telemetry Nvml::look() const {
  Telemetry t;
  unsigned value = 0;
  if (functions_->nvmlDeviceGetClockInfo(device_, kClockSm, &value) == 0) t.sm_mhz = value;
  if (functions_->nvmlDeviceGetClockInfo(device_, kClockMemory, &value) == 0) t.memory_mhz = value;
  if (functions_->nvmlDeviceGetTemperature(device_, kTemperatureGpu, &value) == 0)
    t.temperature_c = value;
  if (functions_->nvmlDeviceGetPowerUsage(device_, &value) == 0) t.power_w = value / 1e3;
  unsigned long long bits = 0;
  if (functions_->reasons(device_, &bits) == 0) t.throttle = throttle_reasons(bits);
  return t;
}

Result<double> Nvml::energy_j() const {
  unsigned long long millijoules = 0;
  if (int rc = functions_->nvmlDeviceGetTotalEnergyConsumption(device_, &millijoules); rc != 0)
    return fail(fmt::format("the device has no energy counter (NVML code {})", rc),
                "energy is counted from Volta on");
  return static_cast<double>(millijoules) / 1e3;
}

}  // namespace kp
