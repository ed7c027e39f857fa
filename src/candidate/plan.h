#pragma once
// The launch plan as written: names and expressions, not yet numbers (see resolve.h).
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/json.h"
#include "task/dtype.h"

namespace kp {

using Expr = std::string;  // integer expression over sizes (task/expression.h); "256" for 256

struct PlanBuffer {  // scratch memory of the candidate, not initialised
  std::string name;
  DType dtype = DType::f32;
  std::vector<Expr> shape;
};

// A CUtensorMap of a tensor or buffer, passed to kernels as `const __grid_constant__
// cute::TmaDescriptor` (NVRTC has no CUtensorMap).
struct PlanTensorMap {
  std::string name;
  std::string tensor;
  std::vector<Expr> dims;  // innermost first; empty: the tensor's own shape reversed
  // In elements, of dims 1.. (dim 0 is dense). Empty: the tensor's own when dims has its rank, else
  // dense ones (of a contiguous tensor).
  std::vector<Expr> strides;
  std::vector<Expr> box;              // innermost first
  std::string swizzle = "none";       // none | 32B | 64B | 128B
  std::string l2_promotion = "256B";  // none | 64B | 128B | 256B
  std::string interleave = "none";    // none | 16B | 32B
  bool nan_fill = false;              // out-of-bounds elements: zero, or NaN
};

struct PlanKernel {
  std::string kernel;  // name of a __global__ function (extern "C", or its demangled name)
  std::vector<Expr> grid = {"1"};   // 1 to 3
  std::vector<Expr> block = {"1"};  // 1 to 3
  std::vector<Expr> cluster;        // empty: none
  Expr dynamic_smem = "0";          // bytes
  bool cooperative = false;
  bool programmatic_dependent_launch = false;
  // A tensor's, buffer's or tensor map's name, or a typed value "i32:EXPR", "i64:", "u32:", "u64:",
  // "f32:", "f64:", "f16:", "bf16:", "real:" (a native task's own floating type, f64 in its truth
  // run; else f32). Floating values are a literal, or a scalar or size of the task by name.
  // Expressions may use scalars that are whole numbers.
  std::vector<std::string> args;
};

struct PlanMemset {  // {"memset": TARGET, "value": 0}: sets every byte of a tensor or buffer
  std::string target;
  std::uint8_t value = 0;
};

struct PlanCopy {  // {"copy": FROM, "to": TO}: whole tensors or buffers, of the same bytes
  std::string from;
  std::string to;
};

struct PlanRepeat;  // {"repeat": EXPR, "index": "t", "steps": [...]}: t is a size inside
using PlanStep = std::variant<PlanKernel, PlanMemset, PlanCopy, PlanRepeat>;
struct PlanRepeat {
  Expr count;
  std::string index;
  std::vector<PlanStep> steps;
};

struct Plan {
  std::vector<PlanBuffer> buffers;
  std::vector<PlanTensorMap> tensor_maps;
  std::vector<PlanStep> steps;
};

// Unknown keys are errors (with the nearest known one), so that a slip is never ignored.
Result<Plan> parse_plan(const Json& json, std::string_view where);
Json to_json(const Plan& plan);

}  // namespace kp
