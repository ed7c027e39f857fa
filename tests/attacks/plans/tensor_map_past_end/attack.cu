// Attack: a tensor map with twice as many rows as the tensor has: its boxes reach into the memory
// behind it.
/* plan
{"tensor_maps": {"map": {"tensor": "a", "dims": [1024, 8192], "strides": [1024], "box": [256, 4]}},
 "steps": [{"kernel": "k", "grid": [4, 1024], "block": [256], "args": ["map", "b", "out"]}]}
*/
struct alignas(64) Map { char bytes[128]; };

// out = a + b on 1024 x 4 elements a row of blocks; a comes by the bulk tensor copy engine.
extern "C" __global__ void k(const __grid_constant__ Map map, const float* b, float* out) {
  __shared__ alignas(128) float tile[4][256];
  __shared__ unsigned long long barrier;
  unsigned bar = (unsigned)__cvta_generic_to_shared(&barrier);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(bar));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 4096;" ::"r"(bar) : "memory");
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
            (unsigned)__cvta_generic_to_shared(tile)),
        "l"(&map), "r"(blockIdx.x * 256), "r"(blockIdx.y * 4), "r"(bar)
        : "memory");
  }
  unsigned done = 0;
  while (!done)
    asm volatile(
        "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
        : "=r"(done) : "r"(bar) : "memory");
  for (int r = 0; r < 4; ++r) {
    int i = (blockIdx.y * 4 + r) * 1024 + blockIdx.x * 256 + threadIdx.x;
    out[i] = tile[r][threadIdx.x] + b[i];
  }
}
