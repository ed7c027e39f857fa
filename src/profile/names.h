#pragma once
// Kernel names: ncu's demangled signatures, mangled symbols and plain C names → one function name.
#include <string>
#include <string_view>
#include <vector>

namespace kp {

// "void gemm_naive<(int)16>(const float *, int)" → "gemm_naive"; "_Z3addPfi" → "add";
// "ns::f<float>" → "ns::f". Parameters, template arguments and the return type go.
std::string function_name(std::string_view signature);

// `name` without its namespaces: "ns::f" → "f".
std::string_view last_part(std::string_view name);

// Form in which signatures of different tools compare equal: demangled, without return type, spaces
// and casts of template arguments: "gemm_naive<16>(float const*,int)". Empty when `signature` is a
// plain name.
std::string comparable_signature(std::string_view signature);

// Which of `candidates` is the function `signature`? By function name (namespaces are left out when
// that helps), and by the whole signature where several instantiations have the same name.
struct FunctionMatch {
  int index = -1;  // -1: none
  bool ambiguous = false;
};
FunctionMatch match_function(std::string_view signature,
                             const std::vector<std::string>& candidates);

}  // namespace kp
