#pragma once
// NVRTC, loaded at run time, and one compilation with it.
#include <nvrtc.h>

#include <map>
#include <string>
#include <vector>

#include "base/dynlib.h"

namespace kp {

struct Nvrtc {
  DynLib lib;
  int major = 0, minor = 0;
  decltype(&nvrtcCreateProgram) create = nullptr;
  decltype(&nvrtcDestroyProgram) destroy = nullptr;
  decltype(&nvrtcCompileProgram) compile = nullptr;
  decltype(&nvrtcGetProgramLogSize) log_size = nullptr;
  decltype(&nvrtcGetProgramLog) log = nullptr;
  decltype(&nvrtcGetCUBINSize) cubin_size = nullptr;
  decltype(&nvrtcGetCUBIN) cubin = nullptr;
  decltype(&nvrtcGetPTXSize) ptx_size = nullptr;
  decltype(&nvrtcGetPTX) ptx = nullptr;
  decltype(&nvrtcAddNameExpression) add_name = nullptr;
  decltype(&nvrtcGetLoweredName) lowered_name = nullptr;
  decltype(&nvrtcGetErrorString) error_string = nullptr;
  // Of CUDA 12.8 and newer; null before.
  decltype(&nvrtcSetPCHHeapSize) set_pch_heap = nullptr;

  bool at_least(int want_major, int want_minor) const {
    return major != want_major ? major > want_major : minor >= want_minor;
  }
};

Result<Nvrtc> load_nvrtc(const std::string& path);

struct NvrtcInput {
  std::string name;    // of the file, as diagnostics show it
  std::string source;  // its text
  std::vector<std::string> options;
  std::vector<std::string> name_expressions;  // template kernels to instantiate: "k<128>"
};

struct NvrtcOutput {
  bool ok = false;
  std::string status;  // NVRTC's own word for the result
  std::string log;
  std::string cubin;
  std::string ptx;
  std::map<std::string, std::string> symbols;  // name expression → symbol in the cubin
};

// Never fails of itself: what NVRTC refuses is in status and log.
NvrtcOutput nvrtc_compile(const Nvrtc& nvrtc, const NvrtcInput& input);

}  // namespace kp
