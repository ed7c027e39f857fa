#pragma once
// What a cubin (an ELF file of NVIDIA's machine code) says of its kernels. Pure: bytes in, values
// out; every read is checked, whatever the bytes. The attribute codes are those that cuobjdump
// -elf prints names for.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kp {

struct CubinParam {
  std::uint32_t offset = 0;  // bytes from the start of the parameters
  std::uint32_t size = 0;    // bytes
};

struct CubinKernel {
  std::string symbol;              // as the driver knows it; mangled unless extern "C"
  std::vector<CubinParam> params;  // in order
  std::uint32_t registers = 0;     // a thread
  std::uint32_t stack_bytes = 0;   // local memory a thread, calls included
  std::uint32_t static_smem = 0;   // bytes, without the driver's own reserve
  std::uint32_t barriers = 0;
  std::uint32_t max_threads = 0;           // of __launch_bounds__ or __block_size__; 0: no bound
  std::uint32_t required_cluster[3] = {};  // of __cluster_dims__; 0: free
};

Result<std::vector<CubinKernel>> parse_cubin(std::string_view bytes);

// What outlives a launch: memory that belongs to the module, and calls of the device's heap.
struct CubinState {
  std::vector<std::string> globals;  // __device__ and __constant__ variables, static ones too
  bool heap = false;                 // calls malloc or free on the device
};

Result<CubinState> parse_cubin_state(std::string_view bytes);

}  // namespace kp
