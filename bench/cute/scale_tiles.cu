// y = alpha * x, by tiles of 64 x 64.
#include <cute/tensor.hpp>
using namespace cute;

extern "C" __global__ void __launch_bounds__(256)
    scale_tiles(const float* x, float* y, int rows, int columns, float alpha) {
  auto shape = make_shape(rows, columns);
  auto stride = make_stride(columns, Int<1>{});
  Tensor from = make_tensor(make_gmem_ptr(x), shape, stride);
  Tensor to = make_tensor(make_gmem_ptr(y), shape, stride);
  auto tile = make_shape(Int<64>{}, Int<64>{});
  auto threads = make_layout(make_shape(Int<16>{}, Int<16>{}), make_stride(Int<16>{}, Int<1>{}));
  Tensor mine = local_partition(local_tile(from, tile, make_coord(blockIdx.x, blockIdx.y)), threads, threadIdx.x);
  Tensor out = local_partition(local_tile(to, tile, make_coord(blockIdx.x, blockIdx.y)), threads, threadIdx.x);
  Tensor held = make_fragment_like(mine);
  copy(mine, held);
  for (int i = 0; i < size(held); ++i) held(i) *= alpha;
  copy(held, out);
}
