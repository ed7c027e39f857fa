// Attack: loads with evict_last and at its end loads all inputs again so, so that they outlive the
// flush between two samples.
/* plan
{"steps": [{"kernel": "k", "grid": ["ceil_div(out_numel, 1024)"], "block": [256],
            "args": ["a", "b", "out", "i32:out_numel"]}]}
*/
__device__ unsigned long long keep_policy() {
  unsigned long long policy;
  asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}
__device__ float4 load_kept(const float4* p, unsigned long long policy) {
  float4 v;
  asm volatile("ld.global.L2::cache_hint.v4.f32 {%0, %1, %2, %3}, [%4], %5;"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(p), "l"(policy));
  return v;
}
extern "C" __global__ void k(const float4* a, const float4* b, float4* out, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n / 4) return;
  unsigned long long policy = keep_policy();
  float4 p = load_kept(a + i, policy), q = load_kept(b + i, policy);
  out[i] = make_float4(p.x + q.x, p.y + q.y, p.z + q.z, p.w + q.w);
}
