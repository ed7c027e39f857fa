#include "device/cuda_context.h"

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"

namespace kp {

namespace {

int attribute(const Driver& driver, CUdevice_attribute which, CUdevice device) {
  int value = 0;
  return driver.cuDeviceGetAttribute(&value, which, device) == CUDA_SUCCESS ? value : 0;
}

std::string driver_version(const Driver& driver) {
  if (auto text = read_file("/sys/module/nvidia/version")) return std::string(trim(*text));
  int version = 0;
  driver.cuDriverGetVersion(&version);
  return fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10);
}

DeviceInfo query(const Driver& driver, CUdevice device) {
  auto get = [&](CUdevice_attribute which) { return attribute(driver, which, device); };
  auto u32 = [&](CUdevice_attribute which) { return static_cast<std::uint32_t>(get(which)); };
  DeviceInfo d;
  char name[256] = {};
  driver.cuDeviceGetName(name, sizeof name - 1, device);
  d.name = name;
  CUuuid uuid{};
  if (driver.cuDeviceGetUuid(&uuid, device) == CUDA_SUCCESS)
    for (char c : uuid.bytes) d.uuid += fmt::format("{:02x}", static_cast<unsigned char>(c));
  d.driver = driver_version(driver);
  d.cc_major = get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  d.cc_minor = get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  d.sms = get(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  d.max_threads_per_sm = get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  d.max_blocks_per_sm = get(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
  d.registers_per_sm = get(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  d.smem_per_sm = get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  d.smem_per_block_optin = get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  d.reserved_smem_per_block = get(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
  d.l2_bytes = get(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  d.clock_khz = get(CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
  // Both edges of the clock carry data.
  d.dram_peak_gbs = 2.0 * get(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) *
                    get(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) / 8 / 1e6;
  std::size_t total = 0;
  driver.cuDeviceTotalMem(&total, device);
  d.memory_bytes = static_cast<std::int64_t>(total);
  LaunchLimits& l = d.limits;
  l.max_threads_per_block = u32(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  l.max_block = {u32(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X), u32(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y),
                 u32(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)};
  l.max_grid = {u32(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X), u32(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y),
                u32(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)};
  l.max_dynamic_smem = static_cast<std::uint32_t>(d.smem_per_block_optin);
  l.max_cluster =
      d.cc_major >= 9 ? 16 : 1;  // over 8 needs the non-portable attribute, which is set
  l.memory_bytes = d.memory_bytes;
  return d;
}

}  // namespace

DeviceFault fault_of(const Driver& driver, CUresult code, std::string_view call) {
  using Kind = DeviceFault::Kind;
  Kind kind = Kind::environment;
  switch (code) {
    case CUDA_ERROR_OUT_OF_MEMORY:
      kind = Kind::out_of_memory;
      break;
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
      kind = Kind::crash;
      break;
    case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
    case CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE:
    case CUDA_ERROR_INVALID_CLUSTER_SIZE:
      kind = Kind::plan;
      break;
    default:
      break;
  }
  return {kind, fmt::format("{}: {}", call, driver.describe(code))};
}

Result<CudaContext> open_context(int index) {
  CudaContext cuda;
  KP_ASSIGN(cuda.driver, load_driver());
  const Driver& driver = cuda.driver;
  int count = 0;
  driver.cuDeviceGetCount(&count);
  if (index < 0 || index >= count)
    return fail(fmt::format("there is no CUDA device {} here ({} found)", index, count),
                "nvidia-smi -L lists the devices; CUDA_VISIBLE_DEVICES may hide them");
  auto must = [&](CUresult rc, const char* what) -> Status {
    if (rc != CUDA_SUCCESS) return fail(fmt::format("{}: {}", what, driver.describe(rc)));
    return {};
  };
  CUdevice device = 0;
  CUcontext context = nullptr;
  KP_TRY(must(driver.cuDeviceGet(&device, index), "cuDeviceGet"));
  KP_TRY(must(driver.cuDevicePrimaryCtxRetain(&context, device), "cannot create a CUDA context"));
  KP_TRY(must(driver.cuCtxSetCurrent(context), "cuCtxSetCurrent"));
  cuda.info = query(driver, device);
  KP_TRY(must(driver.cuStreamCreate(&cuda.stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate"));
  cuda.flush_bytes = static_cast<std::size_t>(2 * cuda.info.l2_bytes);
  KP_TRY(must(driver.cuMemAlloc(&cuda.flush, cuda.flush_bytes), "cannot allocate the L2 flush"));
  return cuda;
}

}  // namespace kp
