#pragma once
// Where the CUDA parts that we load or call are on this machine.
#include <string>
#include <vector>

#include "base/files.h"

namespace kp {

struct Toolkit {
  std::string nvrtc;                      // path of libnvrtc.so.*; empty: not found
  std::vector<std::string> include_dirs;  // CUDA headers (cuda_fp16.h, cccl)
  std::string cutlass_include;            // folder that holds cute/tensor.hpp; empty: not found
  std::string ncu, nsys, cuobjdump, nvdisasm, compute_sanitizer;  // programs; empty: not found
  std::vector<std::string> searched;                              // for messages
};

// Looks at CUDA_HOME, CUDA_PATH, /usr/local/cuda*, wheels (nvidia/cu13 and nvidia/*/lib of
// KERNELPRO_VENV, VIRTUAL_ENV, ./.venv beside the program or the working folder, and python3's
// site-packages), CUTLASS_PATH (a checkout or its include/), the nvidia-cutlass wheel, PATH, and
// /opt/nvidia/nsight-*.
Toolkit find_toolkit();

}  // namespace kp
