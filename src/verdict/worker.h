#pragma once
// The runner's process: `kernelpro worker` (docs/protocols.md).
#include <string>

namespace kp {

// Serves requests on stdin until "quit".
int worker_main(int device);

// Runs one plan once and ends: what Nsight Compute is wrapped round. `file` holds
// {"device": 0, "tensors": [...], "load": {...}} with the fields of "inputs" and "load". With
// "fill": "outputs" buffers are left as they come; "proof" names a file for an OnceProof.
// "inputs_to" names a folder into which the inputs are written, and nothing is run; with
// "inputs_from" they are read from there and no other process's memory is opened.
int worker_once(const std::string& file);

}  // namespace kp
