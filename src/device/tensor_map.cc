#include <fmt/format.h>

#include "device/cuda_program.h"

namespace kp {

namespace {

Result<CUtensorMapDataType> data_type_of(DType type) {
  switch (type) {
    case DType::f64:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
    case DType::f32:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    case DType::f16:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case DType::bf16:
      return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case DType::i64:
      return CU_TENSOR_MAP_DATA_TYPE_INT64;
    case DType::i32:
      return CU_TENSOR_MAP_DATA_TYPE_INT32;
    case DType::i16:
      return CU_TENSOR_MAP_DATA_TYPE_UINT16;
    case DType::i8:
    case DType::u8:
    case DType::b8:
    case DType::f8e4m3:
    case DType::f8e5m2:
      return CU_TENSOR_MAP_DATA_TYPE_UINT8;
    default:
      return fail(fmt::format("tensor maps cannot hold {}", name_of(type)));
  }
}

}  // namespace

DeviceResult<CUtensorMap> encode_tensor_map(const CudaContext& cuda, const ResolvedTensorMap& map,
                                            DevicePtr address) {
  auto type = data_type_of(map.dtype);
  if (!type) return tl::make_unexpected(DeviceFault{DeviceFault::Kind::plan, type.error().message});
  CUtensorMapSwizzle swizzle = map.swizzle == "32B"    ? CU_TENSOR_MAP_SWIZZLE_32B
                               : map.swizzle == "64B"  ? CU_TENSOR_MAP_SWIZZLE_64B
                               : map.swizzle == "128B" ? CU_TENSOR_MAP_SWIZZLE_128B
                                                       : CU_TENSOR_MAP_SWIZZLE_NONE;
  CUtensorMapL2promotion promotion =
      map.l2_promotion == "64B"    ? CU_TENSOR_MAP_L2_PROMOTION_L2_64B
      : map.l2_promotion == "128B" ? CU_TENSOR_MAP_L2_PROMOTION_L2_128B
      : map.l2_promotion == "256B" ? CU_TENSOR_MAP_L2_PROMOTION_L2_256B
                                   : CU_TENSOR_MAP_L2_PROMOTION_NONE;
  CUtensorMapInterleave interleave = map.interleave == "16B"   ? CU_TENSOR_MAP_INTERLEAVE_16B
                                     : map.interleave == "32B" ? CU_TENSOR_MAP_INTERLEAVE_32B
                                                               : CU_TENSOR_MAP_INTERLEAVE_NONE;
  std::vector<cuuint64_t> dims(map.dims.begin(), map.dims.end());
  std::vector<cuuint64_t> strides(map.stride_bytes.begin(), map.stride_bytes.end());
  std::vector<cuuint32_t> box(map.box.begin(), map.box.end());
  std::vector<cuuint32_t> element_strides(dims.size(), 1);
  CUtensorMap out{};
  CUresult rc = cuda.driver.cuTensorMapEncodeTiled(
      &out, *type, static_cast<cuuint32_t>(dims.size()), reinterpret_cast<void*>(address),
      dims.data(), strides.data(), box.data(), element_strides.data(), interleave, swizzle,
      promotion,
      map.nan_fill ? CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA
                   : CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (rc != CUDA_SUCCESS)
    return tl::make_unexpected(
        DeviceFault{DeviceFault::Kind::plan, fmt::format("tensor map {}: the driver refuses it: {}",
                                                         map.name, cuda.driver.describe(rc))});
  return out;
}

}  // namespace kp
