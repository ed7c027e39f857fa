// c = a b' in bf16 by mma.sync, tiles of 64 x 64 x 32; k contiguous on both sides.
#include <cute/tensor.hpp>
using namespace cute;
using bf16 = cutlass::bfloat16_t;

extern "C" __global__ void __launch_bounds__(128)
    matmul_mma(const bf16* a, const bf16* b, float* c, int m, int n, int k) {
  __shared__ alignas(16) bf16 memory_a[64 * 32], memory_b[64 * 32];
  auto layout = make_layout(make_shape(Int<64>{}, Int<32>{}), make_stride(Int<32>{}, Int<1>{}));
  Tensor shared_a = make_tensor(make_smem_ptr(memory_a), layout);
  Tensor shared_b = make_tensor(make_smem_ptr(memory_b), layout);
  Tensor from_a = make_tensor(make_gmem_ptr(a), make_shape(m, k), make_stride(k, Int<1>{}));
  Tensor from_b = make_tensor(make_gmem_ptr(b), make_shape(n, k), make_stride(k, Int<1>{}));
  Tensor to = make_tensor(make_gmem_ptr(c), make_shape(m, n), make_stride(n, Int<1>{}));
  auto tile = make_shape(Int<64>{}, Int<32>{});
  auto mma = make_tiled_mma(SM80_16x8x16_F32BF16BF16F32_TN{}, Layout<Shape<_2, _2>>{});
  auto mine = mma.get_thread_slice(threadIdx.x);
  Tensor out = mine.partition_C(local_tile(to, make_shape(Int<64>{}, Int<64>{}), make_coord(blockIdx.x, blockIdx.y)));
  Tensor sum = mine.make_fragment_C(out);
  clear(sum);
  Tensor part_a = mine.partition_fragment_A(shared_a);
  Tensor part_b = mine.partition_fragment_B(shared_b);
  auto threads = make_layout(make_shape(Int<4>{}, Int<32>{}), make_stride(Int<32>{}, Int<1>{}));
  for (int step = 0; step < k / 32; ++step) {
    copy(local_partition(local_tile(from_a, tile, make_coord(blockIdx.x, step)), threads, threadIdx.x),
         local_partition(shared_a, threads, threadIdx.x));
    copy(local_partition(local_tile(from_b, tile, make_coord(blockIdx.y, step)), threads, threadIdx.x),
         local_partition(shared_b, threads, threadIdx.x));
    __syncthreads();
    copy(mine.partition_A(shared_a), part_a);
    copy(mine.partition_B(shared_b), part_b);
    gemm(mma, part_a, part_b, sum);
    __syncthreads();
  }
  copy(sum, out);
}
