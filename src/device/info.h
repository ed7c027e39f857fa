#pragma once
// What a device is, and what it can really do.
#include <cstdint>
#include <string>

#include "base/json.h"
#include "candidate/resolve.h"

namespace kp {

struct DeviceInfo {
  std::string name;  // "NVIDIA H200"
  std::string uuid;
  std::string driver;  // "580.159.04", or the CUDA version that the driver reports
  int cc_major = 0, cc_minor = 0;
  int sms = 0;  // multiprocessors
  int max_threads_per_sm = 0;
  int max_blocks_per_sm = 0;
  int registers_per_sm = 0;
  std::int64_t smem_per_sm = 0;  // bytes
  std::int64_t smem_per_block_optin = 0;
  std::int64_t reserved_smem_per_block = 0;
  std::int64_t l2_bytes = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t clock_khz = 0;  // boost SM clock
  double dram_peak_gbs = 0;    // bus width and clock of the data sheet, 1e9 bytes/s; 0: unknown
  LaunchLimits limits;

  std::string arch() const;  // NVRTC's target: "sm_90a" for 9.0, "sm_86" for 8.6
};

// The device's own ceilings as measured (design.md, Decision 5); 0 where not measured.
struct Ceilings {
  double dram_gbs = 0;  // read + write of a large copy, 1e9 bytes/s
  double l2_gbs = 0;    // reads that hit L2
  double fp32_tflops = 0;
  double fp64_tflops = 0;
  double tf32_tflops = 0;  // tensor cores, dense
  double bf16_tflops = 0;
  double fp16_tflops = 0;
  double launch_us = 0;  // one empty kernel after another in a stream
  std::string measured;  // when, by which driver
};

Json to_json(const DeviceInfo& info);
Result<DeviceInfo> device_info_from_json(const Json& json);
Json to_json(const Ceilings& ceilings);
Ceilings ceilings_from_json(const Json& json);

}  // namespace kp
