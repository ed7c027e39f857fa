/* plan
{
  "tensor_maps": {"x_tiles": {"tensor": "x", "box": [32, 32]}},
  "steps": [
    {"kernel": "transpose", "grid": ["x_d1 / 32", "x_d0 / 32"], "block": [256],
     "args": ["x_tiles", "y", "i32:x_d0"]}
  ]
}
*/
#include <cute/tensor.hpp>
#include <cutlass/arch/barrier.h>

using Barrier = cutlass::arch::ClusterTransactionBarrier;

extern "C" __global__ void __launch_bounds__(256)
transpose(const __grid_constant__ cute::TmaDescriptor x_tiles, float* __restrict__ y, int rows) {
  __shared__ alignas(128) float tile[32 * 32];
  __shared__ alignas(8) uint64_t full;
  int column = blockIdx.x * 32, row = blockIdx.y * 32;
  if (threadIdx.x == 0) {
    Barrier::init(&full, 1);
    cutlass::arch::fence_barrier_init();
    Barrier::arrive_and_expect_tx(&full, sizeof(tile));
    cute::SM90_TMA_LOAD_2D::copy(&x_tiles, &full, 0, tile, column, row);
  }
  __syncthreads();
  Barrier::wait(&full, 0);
  auto from = cute::make_tensor(cute::make_smem_ptr(tile),
                                cute::make_layout(cute::make_shape(32, 32), cute::LayoutRight{}));
  for (int i = threadIdx.x; i < 32 * 32; i += 256) {
    int r = i % 32, c = i / 32;
    y[(long long)(column + c) * rows + row + r] = from(r, c);
  }
}
