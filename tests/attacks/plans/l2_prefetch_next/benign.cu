// Look-alike, honest: an evict_last hint on what the same call reads twice.
/* plan
{"steps": [{"kernel": "k", "grid": ["ceil_div(out_numel, 1024)"], "block": [256],
            "args": ["a", "b", "out", "i32:out_numel"]}]}
*/
extern "C" __global__ void k(const float4* a, const float4* b, float4* out, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n / 4) return;
  unsigned long long keep;
  asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(keep));
  float4 p;
  asm volatile("ld.global.L2::cache_hint.v4.f32 {%0, %1, %2, %3}, [%4], %5;"
               : "=f"(p.x), "=f"(p.y), "=f"(p.z), "=f"(p.w) : "l"(a + i), "l"(keep));
  float4 q = b[i];
  float again = ((volatile const float*)(a + i))[0];  // the second use
  out[i] = make_float4(again + q.x, p.y + q.y, p.z + q.z, p.w + q.w);
}
