#pragma once
// A plan bound to a loaded cubin: kernels found, arguments packed, tensor maps encoded, launched in
// a stream or as a graph.
#include "device/cuda_context.h"

namespace kp {

// `cuda` must outlive the program. `globals`: variables of the module that restore() sets back.
DeviceResult<std::unique_ptr<Device::Program>> load_program(
    const CudaContext& cuda, std::string_view cubin, const ResolvedPlan& plan,
    const Addresses& addresses, const std::vector<std::string>& globals);

// Encodes one tensor map for `address`.
DeviceResult<CUtensorMap> encode_tensor_map(const CudaContext& cuda, const ResolvedTensorMap& map,
                                            DevicePtr address);

}  // namespace kp
