#pragma once
// Names of kernels: as a plan writes them, and as a cubin holds them.
#include <string>
#include <string_view>

namespace kp {

// "void ns::k<128>(float*)" for a mangled symbol; any other symbol as it is.
std::string demangled(const std::string& symbol);

// "ns::k<128>": the demangled name without return type and parameters.
std::string base_name(const std::string& symbol);

// Whether a plan that writes `asked` means the kernel `symbol`: the symbol itself, its demangled
// name, or that without return type and parameters; spaces do not count.
bool names_kernel(std::string_view asked, const std::string& symbol);

}  // namespace kp
