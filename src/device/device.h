#pragma once
// Device: allocate, load a module, launch a plan, time it. The one implementation now is the CUDA
// driver API (cuda_device.cc). Everything runs in the process that holds the Device: the runner and
// the native oracle, never the engine.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/info.h"

namespace kp {

using DevicePtr = std::uint64_t;

// What went wrong on the device.
struct DeviceFault {
  enum class Kind {
    plan,   // the launch does not fit the kernel or the device: refused before it ran
    crash,  // illegal access, trap, launch failure: the context is lost
    out_of_memory,
    environment,  // anything that is not the candidate's doing
  } kind = Kind::environment;
  std::string message;
};

template <class T>
using DeviceResult = tl::expected<T, DeviceFault>;
using DeviceStatus = tl::expected<void, DeviceFault>;

// Where a plan's tensors and buffers are.
using Addresses = std::map<std::string, DevicePtr>;

enum class LaunchMode { stream, graph };

// What one sample of time means.
enum class Sample {
  cold,  // between two events, with the L2 flushed: lines that were made to persist too
  warm,  // between two events, right after a run of the same
  wall,  // host clock from the first launch on an idle device to its end, L2 flushed
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;

  virtual DeviceResult<DevicePtr> allocate(
      std::int64_t bytes) = 0;  // 0 bytes gives a valid address
  virtual void free(DevicePtr pointer) = 0;
  virtual std::int64_t free_bytes() = 0;
  virtual DeviceStatus fill(DevicePtr pointer, std::uint8_t value, std::int64_t bytes) = 0;
  virtual DeviceStatus copy(DevicePtr to, DevicePtr from, std::int64_t bytes) = 0;
  virtual DeviceStatus upload(DevicePtr to, const void* from, std::int64_t bytes) = 0;
  virtual DeviceStatus download(void* to, DevicePtr from, std::int64_t bytes) = 0;

  // Memory between processes: 64-byte handles of whole allocations, as 128 hex digits. A process
  // cannot open its own.
  virtual DeviceResult<std::string> share(DevicePtr allocation) = 0;
  virtual DeviceResult<DevicePtr> open_shared(const std::string& handle) = 0;
  virtual void close_shared(DevicePtr pointer) = 0;

  // A loaded cubin with a plan bound to addresses, ready to launch. Ends with the object.
  class Program {
   public:
    virtual ~Program() = default;
    // Launches all steps and waits.
    virtual DeviceStatus run() = 0;
    // Launches all steps without waiting, as often as asked; `wait` ends it. For energy.
    virtual DeviceStatus enqueue(LaunchMode mode, int times) = 0;
    virtual DeviceStatus wait() = 0;
    // One sample in ms. graph: one CUDA graph launch.
    virtual DeviceResult<double> time_once(LaunchMode mode, Sample sample = Sample::cold) = 0;
    // The last sample on the events' clock, in ms: for a wall sample a second clock for the same
    // run.
    virtual double event_ms() const = 0;
    // Sets the module's own variables to what they were when it was loaded.
    virtual DeviceStatus restore() = 0;
  };
  // `globals`: names of the variables that restore() is to set back.
  virtual DeviceResult<std::unique_ptr<Program>> load(
      std::string_view cubin, const ResolvedPlan& plan, const Addresses& addresses,
      const std::vector<std::string>& globals = {}) = 0;
};

// Opens CUDA device `index` through the driver API.
Result<std::unique_ptr<Device>> open_cuda_device(int index);

}  // namespace kp
