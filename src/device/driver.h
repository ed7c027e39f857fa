#pragma once
// The CUDA driver API, loaded at run time so that the program starts on machines without a GPU.
// cuda.h renames functions with macros (cuMemAlloc is cuMemAlloc_v2); the members follow it, so a
// call reads driver.cuMemAlloc(...) and binds the version that the header means.
#include <cuda.h>

#include <string>

#include "base/dynlib.h"

// The formatter indents such a list anew at every run.
// clang-format off
#define KP_DRIVER_FUNCTIONS(X)                                                                  \
  X(cuInit) X(cuDriverGetVersion) X(cuGetErrorName) X(cuGetErrorString) X(cuDeviceGetCount)     \
  X(cuDeviceGet) X(cuDeviceGetName) X(cuDeviceGetAttribute) X(cuDeviceTotalMem)                 \
  X(cuDeviceGetUuid) X(cuDevicePrimaryCtxRetain) X(cuCtxSetCurrent) X(cuCtxSynchronize)         \
  X(cuMemGetInfo) X(cuMemAlloc) X(cuMemFree) X(cuMemcpyHtoD) X(cuMemcpyDtoH)                    \
  X(cuMemcpyDtoDAsync) X(cuMemsetD8Async) X(cuMemsetD32Async) X(cuIpcGetMemHandle)              \
  X(cuIpcOpenMemHandle) X(cuIpcCloseMemHandle) X(cuModuleLoadData) X(cuModuleUnload)            \
  X(cuModuleGetFunctionCount) X(cuModuleEnumerateFunctions) X(cuFuncGetName)                    \
  X(cuFuncGetAttribute) X(cuFuncSetAttribute) X(cuFuncGetParamInfo) X(cuLaunchKernelEx)         \
  X(cuStreamCreate) X(cuStreamDestroy) X(cuStreamSynchronize) X(cuStreamBeginCapture)           \
  X(cuStreamEndCapture) X(cuEventCreate) X(cuEventDestroy) X(cuEventRecord)                     \
  X(cuEventSynchronize) X(cuEventElapsedTime) X(cuGraphInstantiate) X(cuGraphLaunch)            \
  X(cuGraphDestroy) X(cuGraphExecDestroy) X(cuTensorMapEncodeTiled) X(cuModuleGetGlobal)           \
  X(cuCtxResetPersistingL2Cache)
// clang-format on

namespace kp {

struct Driver {
#define KP_DECLARE(f) decltype(&::f) f = nullptr;
  KP_DRIVER_FUNCTIONS(KP_DECLARE)
#undef KP_DECLARE

  // "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)"
  std::string describe(CUresult code) const;
};

// Loads libcuda.so.1 and calls cuInit. The Error says whether the driver or the device is missing.
Result<Driver> load_driver();

}  // namespace kp
