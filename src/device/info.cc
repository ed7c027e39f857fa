#include "device/info.h"

#include <fmt/format.h>

namespace kp {

std::string DeviceInfo::arch() const {
  // The arch-specific targets unlock wgmma, setmaxnreg (9.0a) and tcgen05 (10.x, 12.x).
  return fmt::format("sm_{}{}{}", cc_major, cc_minor, cc_major >= 9 ? "a" : "");
}

Json to_json(const DeviceInfo& d) {
  const LaunchLimits& l = d.limits;
  return {{"name", d.name},
          {"uuid", d.uuid},
          {"driver", d.driver},
          {"cc_major", d.cc_major},
          {"cc_minor", d.cc_minor},
          {"sms", d.sms},
          {"max_threads_per_sm", d.max_threads_per_sm},
          {"max_blocks_per_sm", d.max_blocks_per_sm},
          {"registers_per_sm", d.registers_per_sm},
          {"smem_per_sm", d.smem_per_sm},
          {"smem_per_block_optin", d.smem_per_block_optin},
          {"reserved_smem_per_block", d.reserved_smem_per_block},
          {"l2_bytes", d.l2_bytes},
          {"memory_bytes", d.memory_bytes},
          {"clock_khz", d.clock_khz},
          {"dram_peak_gbs", d.dram_peak_gbs},
          {"limits",
           {{"max_threads_per_block", l.max_threads_per_block},
            {"max_block", l.max_block},
            {"max_grid", l.max_grid},
            {"max_dynamic_smem", l.max_dynamic_smem},
            {"max_cluster", l.max_cluster},
            {"memory_bytes", l.memory_bytes}}}};
}

namespace {

Dim3 dim3_or(const Json& object, const char* key, Dim3 otherwise) {
  auto values = get_ints(object, key, "device");
  if (!values || values->size() != 3) return otherwise;
  for (std::size_t i = 0; i < 3; ++i) otherwise[i] = static_cast<std::uint32_t>((*values)[i]);
  return otherwise;
}

}  // namespace

Result<DeviceInfo> device_info_from_json(const Json& j) {
  DeviceInfo d;
  KP_ASSIGN(d.name, get_string(j, "name", "device"));
  KP_ASSIGN(auto major, get_int(j, "cc_major", "device"));
  KP_ASSIGN(auto sms, get_int(j, "sms", "device"));
  d.cc_major = static_cast<int>(major);
  d.sms = static_cast<int>(sms);
  d.uuid = string_or(j, "uuid", "");
  d.driver = string_or(j, "driver", "");
  auto number = [&](const char* key) { return static_cast<int>(int_or(j, key, 0)); };
  d.cc_minor = number("cc_minor");
  d.max_threads_per_sm = number("max_threads_per_sm");
  d.max_blocks_per_sm = number("max_blocks_per_sm");
  d.registers_per_sm = number("registers_per_sm");
  d.smem_per_sm = int_or(j, "smem_per_sm", 0);
  d.smem_per_block_optin = int_or(j, "smem_per_block_optin", 0);
  d.reserved_smem_per_block = int_or(j, "reserved_smem_per_block", 0);
  d.l2_bytes = int_or(j, "l2_bytes", 0);
  d.memory_bytes = int_or(j, "memory_bytes", 0);
  d.clock_khz = int_or(j, "clock_khz", 0);
  d.dram_peak_gbs = double_or(j, "dram_peak_gbs", 0);
  if (j.contains("limits")) {
    const Json& l = j["limits"];
    auto u32 = [&](const char* key, std::uint32_t otherwise) {
      return static_cast<std::uint32_t>(int_or(l, key, otherwise));
    };
    d.limits.max_threads_per_block = u32("max_threads_per_block", 1024);
    d.limits.max_block = dim3_or(l, "max_block", d.limits.max_block);
    d.limits.max_grid = dim3_or(l, "max_grid", d.limits.max_grid);
    d.limits.max_dynamic_smem = u32("max_dynamic_smem", 49152);
    d.limits.max_cluster = u32("max_cluster", 8);
    d.limits.memory_bytes = int_or(l, "memory_bytes", 0);
  }
  return d;
}

Json to_json(const Ceilings& c) {
  return {{"dram_gbs", c.dram_gbs},       {"l2_gbs", c.l2_gbs},
          {"fp32_tflops", c.fp32_tflops}, {"fp64_tflops", c.fp64_tflops},
          {"tf32_tflops", c.tf32_tflops}, {"bf16_tflops", c.bf16_tflops},
          {"fp16_tflops", c.fp16_tflops}, {"launch_us", c.launch_us},
          {"measured", c.measured}};
}

Ceilings ceilings_from_json(const Json& j) {
  Ceilings c;
  c.dram_gbs = double_or(j, "dram_gbs", 0);
  c.l2_gbs = double_or(j, "l2_gbs", 0);
  c.fp32_tflops = double_or(j, "fp32_tflops", 0);
  c.fp64_tflops = double_or(j, "fp64_tflops", 0);
  c.tf32_tflops = double_or(j, "tf32_tflops", 0);
  c.bf16_tflops = double_or(j, "bf16_tflops", 0);
  c.fp16_tflops = double_or(j, "fp16_tflops", 0);
  c.launch_us = double_or(j, "launch_us", 0);
  c.measured = string_or(j, "measured", "");
  return c;
}

}  // namespace kp
