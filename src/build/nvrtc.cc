#include "build/nvrtc.h"

#include "base/files.h"
#include "base/text.h"

namespace kp {

namespace {

// NVRTC opens its built-in functions by bare name at the first compile, and the loader does not
// look beside NVRTC for them (a wheel's folder is on no search path). A library that is loaded
// already is found by name, so load it from there first.
void load_builtins_beside(const fs::path& nvrtc) {
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(nvrtc.parent_path(), ec)) {
    std::string name = entry.path().filename().string();
    if (starts_with(name, "libnvrtc-builtins.so.")) (void)DynLib::open({entry.path().string()});
  }
}

}  // namespace

Result<Nvrtc> load_nvrtc(const std::string& path) {
  Nvrtc n;
  load_builtins_beside(path);
  KP_ASSIGN(n.lib, DynLib::open({path}));
  decltype(&nvrtcVersion) version = nullptr;
  KP_TRY(n.lib.load(version, "nvrtcVersion"));
  KP_TRY(n.lib.load(n.create, "nvrtcCreateProgram"));
  KP_TRY(n.lib.load(n.destroy, "nvrtcDestroyProgram"));
  KP_TRY(n.lib.load(n.compile, "nvrtcCompileProgram"));
  KP_TRY(n.lib.load(n.log_size, "nvrtcGetProgramLogSize"));
  KP_TRY(n.lib.load(n.log, "nvrtcGetProgramLog"));
  KP_TRY(n.lib.load(n.cubin_size, "nvrtcGetCUBINSize"));
  KP_TRY(n.lib.load(n.cubin, "nvrtcGetCUBIN"));
  KP_TRY(n.lib.load(n.ptx_size, "nvrtcGetPTXSize"));
  KP_TRY(n.lib.load(n.ptx, "nvrtcGetPTX"));
  KP_TRY(n.lib.load(n.add_name, "nvrtcAddNameExpression"));
  KP_TRY(n.lib.load(n.lowered_name, "nvrtcGetLoweredName"));
  KP_TRY(n.lib.load(n.error_string, "nvrtcGetErrorString"));
  n.set_pch_heap = reinterpret_cast<decltype(n.set_pch_heap)>(n.lib.symbol("nvrtcSetPCHHeapSize"));
  if (nvrtcResult rc = version(&n.major, &n.minor); rc != NVRTC_SUCCESS)
    return fail(path + ": " + n.error_string(rc));
  return n;
}

namespace {

template <class Size, class Get>
std::string text_of(nvrtcProgram program, Size size_of_text, Get get) {
  std::size_t size = 0;
  if (size_of_text(program, &size) != NVRTC_SUCCESS || size == 0) return "";
  std::string text(size, '\0');
  if (get(program, text.data()) != NVRTC_SUCCESS) return "";
  return text;
}

void cut_at_zero(std::string& text) {
  text.resize(std::min(text.size(), text.find('\0')));
}

}  // namespace

NvrtcOutput nvrtc_compile(const Nvrtc& nvrtc, const NvrtcInput& input) {
  NvrtcOutput out;
  nvrtcProgram program = nullptr;
  nvrtcResult rc =
      nvrtc.create(&program, input.source.c_str(), input.name.c_str(), 0, nullptr, nullptr);
  for (const auto& expression : input.name_expressions)
    if (rc == NVRTC_SUCCESS) rc = nvrtc.add_name(program, expression.c_str());
  if (rc == NVRTC_SUCCESS) {
    std::vector<const char*> options;
    for (const auto& o : input.options) options.push_back(o.c_str());
    rc = nvrtc.compile(program, static_cast<int>(options.size()), options.data());
    out.log = text_of(program, nvrtc.log_size, nvrtc.log);
    cut_at_zero(out.log);
  }
  out.status = nvrtc.error_string(rc);
  out.ok = rc == NVRTC_SUCCESS;
  if (out.ok) {
    out.cubin = text_of(program, nvrtc.cubin_size, nvrtc.cubin);
    out.ptx = text_of(program, nvrtc.ptx_size, nvrtc.ptx);
    cut_at_zero(out.ptx);
    for (const auto& expression : input.name_expressions) {
      const char* symbol = nullptr;
      if (nvrtc.lowered_name(program, expression.c_str(), &symbol) == NVRTC_SUCCESS)
        out.symbols[expression] = symbol;
    }
  }
  if (program != nullptr) nvrtc.destroy(&program);
  return out;
}

}  // namespace kp
