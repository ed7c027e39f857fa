#pragma once
// Native tasks: a .toml that names tensors, sizes, types and tolerance, and a .cu with its plan
// that is both the baseline and the reference.
//
//   name = "row_softmax"                  # default: the file's name
//   reference = "row_softmax.cu"          # candidate file (task file's folder), see candidate.h
//   precision = "strict"                  # strict | tf32 | half
//   [sizes]
//   B = 4096
//   N = 8192
//   [scalars]
//   eps = 1e-5
//   [tensors.x]
//   role = "input"                        # input | parameter | output
//   dtype = "f32"
//   shape = ["B", "N"]
//   values = {uniform = [-1.0, 1.0]}      # or {normal = [mean, sd]} or {constant = 0}
//   [tensors.y]
//   role = "output"
//   dtype = "f32"
//   shape = ["B", "N"]
//   [tolerance]                           # optional
//   atol = 1e-5
//   rtol = 1e-5
//   [work]                                # optional: work that the tensors do not show
//   matmul_flops = "2*M*N*K"
//   other_flops = "5*B*N"
//
// The reference kernel writes `real` for its floating type: it is compiled with real = the tensors'
// own type for the baseline, and with real = double (all floating tensors f64) for the truth. So
// all floating tensors of a task have one type.
#include "base/files.h"
#include "task/task.h"

namespace kp {

// Errors say file, line, key and what is allowed: "a.toml:12: tensors.x.role: cannot be \"out\"".
Result<Task> load_native_task(const fs::path& toml);

// Path of the reference's .cu file.
Result<fs::path> native_reference_path(const Task& task);

}  // namespace kp
