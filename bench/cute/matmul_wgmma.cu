// c = a b' in bf16 by wgmma on tiles that the bulk tensor copy engine brings: 128 x 64 x 64.
#include <cutlass/arch/barrier.h>
#include <cute/tensor.hpp>
using namespace cute;
using bf16 = cutlass::bfloat16_t;
using Barrier = cutlass::arch::ClusterTransactionBarrier;
using Rows = Int<128>;
using Columns = Int<64>;
using Depth = Int<64>;
using LayoutA = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<bf16>{}, make_shape(Rows{}, Depth{}, Int<2>{})));
using LayoutB = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<bf16>{}, make_shape(Columns{}, Depth{}, Int<2>{})));

struct Shared {
  alignas(1024) bf16 a[cosize_v<LayoutA>];
  alignas(1024) bf16 b[cosize_v<LayoutB>];
  uint64_t full[2];
};

extern "C" __global__ void __launch_bounds__(128)
    matmul_wgmma(const __grid_constant__ cute::TmaDescriptor map_a, const __grid_constant__ cute::TmaDescriptor map_b,
                 float* c, int m, int n, int k) {
  extern __shared__ char raw[];
  Shared& shared = *reinterpret_cast<Shared*>(raw);
  Tensor tiles_a = make_tensor(make_smem_ptr(shared.a), LayoutA{});
  Tensor tiles_b = make_tensor(make_smem_ptr(shared.b), LayoutB{});
  auto mma = make_tiled_mma(SM90_64x64x16_F32BF16BF16_SS<GMMA::Major::K, GMMA::Major::K>{});
  auto mine = mma.get_thread_slice(threadIdx.x);
  Tensor to = make_tensor(make_gmem_ptr(c), make_shape(m, n), make_stride(n, Int<1>{}));
  Tensor out = mine.partition_C(local_tile(to, make_shape(Rows{}, Columns{}), make_coord(blockIdx.x, blockIdx.y)));
  Tensor sum = mine.make_fragment_C(out);
  clear(sum);
  Tensor part_a = mine.make_fragment_A(mine.partition_A(tiles_a));
  Tensor part_b = mine.make_fragment_B(mine.partition_B(tiles_b));
  if (threadIdx.x == 0) {
    Barrier::init(&shared.full[0], 1);
    Barrier::init(&shared.full[1], 1);
  }
  __syncthreads();
  int phase = 0;
  for (int step = 0; step < k / 64; ++step) {
    int stage = step % 2;
    if (threadIdx.x == 0) {
      Barrier::arrive_and_expect_tx(&shared.full[stage], (128 + 64) * 64 * 2);
      SM90_TMA_LOAD_2D::copy(&map_a, &shared.full[stage], 0ull, &tiles_a(0, 0, stage), step * 64, int32_t(blockIdx.x * 128));
      SM90_TMA_LOAD_2D::copy(&map_b, &shared.full[stage], 0ull, &tiles_b(0, 0, stage), step * 64, int32_t(blockIdx.y * 64));
    }
    Barrier::wait(&shared.full[stage], phase);
    if (stage == 1) phase ^= 1;
    warpgroup_arrive();
    gemm(mma, part_a(_, _, _, stage), part_b(_, _, _, stage), sum);
    warpgroup_commit_batch();
    warpgroup_wait<0>();
    __syncthreads();
  }
  copy(sum, out);
}
