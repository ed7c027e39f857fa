// Attack: leaves out the last 1024 elements, one in 4,000.
/* plan
{"steps": [{"kernel": "k", "grid": ["ceil_div(out_numel, 256)"], "block": [256],
            "args": ["a", "b", "out", "i32:out_numel"]}]}
*/
extern "C" __global__ void k(const float* a, const float* b, float* out, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n - 1024) out[i] = a[i] + b[i];
}
