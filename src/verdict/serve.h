#pragma once
// The serving side of docs/protocols.md, shared by the runner and the native oracle.
#include <functional>

#include "base/json.h"
#include "device/device.h"

namespace kp {

// Prints `ready`, then answers each line of stdin by `handle` until "quit" or the end of input.
// `handle` sets `last` to end after its answer (a lost CUDA context).
int serve(const Json& ready, const std::function<Json(const Json& request, bool& last)>& handle);

Json ok_answer();
Json error_answer(std::string_view kind, const Error& error);
Json error_answer(const DeviceFault& fault);

}  // namespace kp
