// Look-alike, honest: the same without the hint.
/* plan
{"steps": [{"kernel": "k", "grid": ["ceil_div(out_numel, 1024)"], "block": [256],
            "args": ["a", "b", "out", "i32:out_numel"]}]}
*/
extern "C" __global__ void k(const float4* a, const float4* b, float4* out, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n / 4) return;
  float4 p = a[i], q = b[i];
  out[i] = make_float4(p.x + q.x, p.y + q.y, p.z + q.z, p.w + q.w);
}
