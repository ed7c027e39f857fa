#include "device/driver.h"

#include <fmt/format.h>

namespace kp {

#define KP_TEXT_(x) #x
#define KP_TEXT(x) KP_TEXT_(x)

std::string Driver::describe(CUresult code) const {
  const char* name = nullptr;
  const char* text = nullptr;
  if (cuGetErrorName != nullptr) cuGetErrorName(code, &name);
  if (cuGetErrorString != nullptr) cuGetErrorString(code, &text);
  return fmt::format("{} ({})", name != nullptr ? name : "CUDA error " + std::to_string(code),
                     text != nullptr ? text : "unknown");
}

Result<Driver> load_driver() {
  auto lib = DynLib::open({"libcuda.so.1", "libcuda.so"});
  if (!lib)
    return fail("no NVIDIA driver here (libcuda.so.1 cannot be loaded)",
                "install the NVIDIA driver, or run on a machine with an NVIDIA GPU");
  Driver driver;
#define KP_LOAD(f) KP_TRY(lib->load(driver.f, KP_TEXT(f)));
  KP_DRIVER_FUNCTIONS(KP_LOAD)
#undef KP_LOAD
  if (CUresult rc = driver.cuInit(0); rc != CUDA_SUCCESS)
    return fail(fmt::format("the NVIDIA driver cannot be used: {}", driver.describe(rc)),
                "check that nvidia-smi works for this user");
  return driver;
}

}  // namespace kp
