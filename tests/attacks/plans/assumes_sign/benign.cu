// Look-alike, honest: the whole function.
/* plan
{"steps": [{"kernel": "k", "grid": ["ceil_div(out_numel, 256)"], "block": [256],
            "args": ["x", "out", "i32:out_numel"]}]}
*/
extern "C" __global__ void k(const float* x, float* out, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) out[i] = x[i] < 0.0f ? 0.0f : x[i];
}
