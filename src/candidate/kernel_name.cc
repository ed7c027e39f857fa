#include "candidate/kernel_name.h"

#include <cxxabi.h>

#include <cstdlib>

#include "base/text.h"

namespace kp {

std::string demangled(const std::string& symbol) {
  if (!starts_with(symbol, "_Z")) return symbol;
  int status = 0;
  char* text = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
  std::string out = status == 0 && text != nullptr ? text : symbol;
  std::free(text);
  return out;
}

std::string base_name(const std::string& symbol) {
  std::string full = demangled(symbol);
  if (ends_with(full, ")")) {  // drop the parameters, which may hold parentheses themselves
    std::size_t at = full.size();
    int depth = 0;
    do {
      --at;
      depth += full[at] == ')' ? 1 : full[at] == '(' ? -1 : 0;
    } while (at > 0 && depth > 0);
    full.resize(at);
  }
  return starts_with(full, "void ") ? full.substr(5) : full;
}

bool names_kernel(std::string_view asked, const std::string& symbol) {
  if (asked == symbol) return true;
  std::string wanted = replace_all(std::string(asked), " ", "");
  return wanted == replace_all(demangled(symbol), " ", "") ||
         wanted == replace_all(base_name(symbol), " ", "");
}

}  // namespace kp
