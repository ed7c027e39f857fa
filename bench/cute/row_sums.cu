// Sums of rows of 4096 floats, read 16 bytes at a time. One block a row.
#include <cute/tensor.hpp>
using namespace cute;

extern "C" __global__ void __launch_bounds__(256) row_sums(const float* x, float* y) {
  Tensor row = make_tensor(make_gmem_ptr(x + blockIdx.x * 4096LL), make_shape(Int<4096>{}));
  auto wide = make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{}, Layout<Shape<_256>>{}, Layout<Shape<_4>>{});
  auto mine = wide.get_slice(threadIdx.x);
  Tensor part = mine.partition_S(row);
  Tensor held = make_fragment_like(part);
  copy(wide, part, held);
  float sum = 0;
  for (int i = 0; i < size(held); ++i) sum += held(i);
  for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(~0u, sum, lanes);
  __shared__ float partial[8];
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int w = 1; w < 8; ++w) sum += partial[w];
  y[blockIdx.x] = sum;
}
