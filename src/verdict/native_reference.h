#pragma once
// The reference kernel of a native task in its two uses: as it is, the baseline; with real =
// double, the truth. Inputs are made of a seed, outputs come back as doubles.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "device/device.h"
#include "task/task.h"
#include "verdict/variant.h"

namespace kp {

class NativeReference {
 public:
  using Values = std::vector<double>;
  using Memory = std::map<std::string, DevicePtr>;  // by the tensor's name; the caller's to free

  NativeReference(Device& device, const Task& task, std::uint64_t init_seed)
      : device_(device), task_(task), init_seed_(init_seed) {}

  // Compiles both.
  Status prepare();

  // Values as the candidate will see them, so that truth and candidate start from the same numbers.
  Values values_of(const TensorSpec& t, std::uint64_t seed, Variant variant) const;
  // Inputs and parameters on the device; all floating ones as doubles when `promote`.
  DeviceResult<Memory> upload_inputs(std::uint64_t seed, Variant variant, bool promote);
  void free_all(Memory& memory);
  // Runs on `inputs` that were uploaded with the same `promote`; the outputs' values.
  DeviceResult<std::map<std::string, Values>> run(const Memory& inputs, bool promote);
  // The baseline, bound to `inputs` and to outputs and buffers of its own, which go into `own`.
  DeviceResult<std::unique_ptr<Device::Program>> load_baseline(const Memory& inputs, Memory& own);
  DeviceResult<Values> download(DevicePtr from, const TensorSpec& t, DType type);

 private:
  struct Compiled {
    ResolvedPlan plan;
    std::string cubin;
  };

  std::string real_type() const;
  DeviceStatus allocate_outputs(bool promote, Addresses& addresses, Memory& own);
  DeviceResult<std::unique_ptr<Device::Program>> load(bool promote, Addresses& addresses,
                                                      Memory& own);
  DeviceResult<std::map<std::string, Values>> run_on(Addresses& addresses, Memory& own,
                                                     bool promote);

  Device& device_;
  const Task& task_;
  std::uint64_t init_seed_;
  Compiled baseline_, truth_;
};

}  // namespace kp
