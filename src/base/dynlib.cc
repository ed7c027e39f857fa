#include "base/dynlib.h"

#include <dlfcn.h>

namespace kp {

Result<DynLib> DynLib::open(const std::vector<std::string>& names) {
  std::string tried;
  for (const auto& name : names) {
    if (void* handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      DynLib lib;
      lib.handle_ = handle;
      lib.path_ = name;
      return lib;
    }
    tried += (tried.empty() ? "" : "; ") + std::string(::dlerror());
  }
  return fail("cannot load a library: " + tried);
}

void* DynLib::symbol(const char* name) const {
  return handle_ == nullptr ? nullptr : ::dlsym(handle_, name);
}

}  // namespace kp
