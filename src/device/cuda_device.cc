#include <fmt/format.h>

#include <cstring>

#include "device/cuda_context.h"
#include "device/cuda_program.h"

namespace kp {

namespace {

std::string to_hex(const CUipcMemHandle& handle) {
  std::string out;
  for (unsigned char c : std::string_view(handle.reserved, sizeof handle.reserved))
    out += fmt::format("{:02x}", c);
  return out;
}

bool from_hex(const std::string& text, CUipcMemHandle& handle) {
  if (text.size() != 2 * sizeof handle.reserved) return false;
  for (std::size_t i = 0; i < sizeof handle.reserved; ++i) {
    char* end = nullptr;
    std::string byte = text.substr(2 * i, 2);
    handle.reserved[i] = static_cast<char>(std::strtoul(byte.c_str(), &end, 16));
    if (*end != '\0') return false;
  }
  return true;
}

class CudaDevice : public Device {
 public:
  explicit CudaDevice(CudaContext context) : cuda_(std::move(context)) {}

  const DeviceInfo& info() const override { return cuda_.info; }

  DeviceResult<DevicePtr> allocate(std::int64_t bytes) override {
    CUdeviceptr pointer = 0;
    KP_CUDA(cuda_, cuMemAlloc, &pointer, static_cast<std::size_t>(bytes < 256 ? 256 : bytes));
    return pointer;
  }

  void free(DevicePtr pointer) override {
    if (pointer != 0) cuda_.driver.cuMemFree(pointer);
  }

  std::int64_t free_bytes() override {
    std::size_t available = 0;
    std::size_t total = 0;
    cuda_.driver.cuMemGetInfo(&available, &total);
    return static_cast<std::int64_t>(available);
  }

  DeviceStatus fill(DevicePtr pointer, std::uint8_t value, std::int64_t bytes) override {
    if (bytes > 0)
      KP_CUDA(cuda_, cuMemsetD8Async, pointer, value, static_cast<std::size_t>(bytes),
              cuda_.stream);
    return wait();
  }

  DeviceStatus copy(DevicePtr to, DevicePtr from, std::int64_t bytes) override {
    if (bytes > 0)
      KP_CUDA(cuda_, cuMemcpyDtoDAsync, to, from, static_cast<std::size_t>(bytes), cuda_.stream);
    return wait();
  }

  DeviceStatus upload(DevicePtr to, const void* from, std::int64_t bytes) override {
    if (bytes > 0) KP_CUDA(cuda_, cuMemcpyHtoD, to, from, static_cast<std::size_t>(bytes));
    return {};
  }

  DeviceStatus download(void* to, DevicePtr from, std::int64_t bytes) override {
    if (bytes > 0) KP_CUDA(cuda_, cuMemcpyDtoH, to, from, static_cast<std::size_t>(bytes));
    return {};
  }

  DeviceResult<std::string> share(DevicePtr allocation) override {
    CUipcMemHandle handle{};
    KP_CUDA(cuda_, cuIpcGetMemHandle, &handle, allocation);
    return to_hex(handle);
  }

  DeviceResult<DevicePtr> open_shared(const std::string& text) override {
    CUipcMemHandle handle{};
    if (!from_hex(text, handle))
      return tl::make_unexpected(
          DeviceFault{DeviceFault::Kind::environment, "a shared memory handle is malformed"});
    CUdeviceptr pointer = 0;
    KP_CUDA(cuda_, cuIpcOpenMemHandle, &pointer, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    return pointer;
  }

  void close_shared(DevicePtr pointer) override { cuda_.driver.cuIpcCloseMemHandle(pointer); }

  DeviceResult<std::unique_ptr<Program>> load(std::string_view cubin, const ResolvedPlan& plan,
                                              const Addresses& addresses,
                                              const std::vector<std::string>& globals) override {
    return load_program(cuda_, cubin, plan, addresses, globals);
  }

 private:
  DeviceStatus wait() {
    KP_CUDA(cuda_, cuStreamSynchronize, cuda_.stream);
    return {};
  }

  CudaContext cuda_;
};

}  // namespace

Result<std::unique_ptr<Device>> open_cuda_device(int index) {
  KP_ASSIGN(CudaContext context, open_context(index));
  return std::unique_ptr<Device>(std::make_unique<CudaDevice>(std::move(context)));
}

}  // namespace kp
