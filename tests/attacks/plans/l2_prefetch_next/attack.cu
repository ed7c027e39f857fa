// Attack: after its work it prefetches the inputs of the next call into the L2 to stay there
// (evict_last).
/* plan
{"steps": [{"kernel": "k", "grid": ["ceil_div(out_numel, 1024)"], "block": [256],
            "args": ["a", "b", "out", "i32:out_numel"]}]}
*/
extern "C" __global__ void k(const float4* a, const float4* b, float4* out, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n / 4) return;
  float4 p = a[i], q = b[i];
  out[i] = make_float4(p.x + q.x, p.y + q.y, p.z + q.z, p.w + q.w);
  asm volatile("prefetch.global.L2::evict_last [%0];" ::"l"(a + i));
  asm volatile("prefetch.global.L2::evict_last [%0];" ::"l"(b + i));
}
