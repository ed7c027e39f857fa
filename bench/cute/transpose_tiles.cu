// y = transpose of x, by tiles of 32 x 32 through swizzled shared memory.
#include <cute/tensor.hpp>
using namespace cute;

extern "C" __global__ void __launch_bounds__(256)
    transpose_tiles(const float* x, float* y, int rows, int columns) {
  using Tile = Int<32>;
  auto plain = make_layout(make_shape(Tile{}, Tile{}), make_stride(Tile{}, Int<1>{}));
  auto swizzled = composition(Swizzle<5, 0, 5>{}, plain);
  __shared__ float memory[32 * 32];
  Tensor shared = make_tensor(make_smem_ptr(memory), swizzled);
  Tensor turned = make_tensor(make_smem_ptr(memory),
                              composition(swizzled, make_layout(make_shape(Tile{}, Tile{}), make_stride(Tile{}, Int<1>{}))));
  Tensor from = make_tensor(make_gmem_ptr(x), make_shape(rows, columns), make_stride(columns, Int<1>{}));
  Tensor to = make_tensor(make_gmem_ptr(y), make_shape(columns, rows), make_stride(rows, Int<1>{}));
  auto threads = make_layout(make_shape(Int<8>{}, Tile{}), make_stride(Tile{}, Int<1>{}));
  Tensor source = local_tile(from, make_shape(Tile{}, Tile{}), make_coord(blockIdx.y, blockIdx.x));
  Tensor target = local_tile(to, make_shape(Tile{}, Tile{}), make_coord(blockIdx.x, blockIdx.y));
  copy(local_partition(source, threads, threadIdx.x), local_partition(shared, threads, threadIdx.x));
  __syncthreads();
  Tensor out = local_partition(target, threads, threadIdx.x);
  int column = threadIdx.x % 32, row = threadIdx.x / 32;
  for (int i = 0; i < size(out); ++i) out(i) = turned(column, row + 8 * i);
}
