#pragma once
// A shared library loaded at run time (libcuda, libnvrtc), so that the program starts without it.
#include <string>
#include <vector>

#include "base/result.h"

namespace kp {

class DynLib {
 public:
  DynLib() = default;
  // Opens the first of `names` that loads; the Error lists what was tried.
  static Result<DynLib> open(const std::vector<std::string>& names);
  void* symbol(const char* name) const;  // null when absent
  const std::string& path() const { return path_; }

  // Fills a function pointer; Error names the symbol.
  template <class F>
  Status load(F*& function, const char* name) const {
    function = reinterpret_cast<F*>(symbol(name));
    if (function == nullptr) return fail(path_ + ": has no " + name);
    return {};
  }

 private:
  void* handle_ = nullptr;  // never closed: CUDA libraries do not unload cleanly
  std::string path_;
};

}  // namespace kp
