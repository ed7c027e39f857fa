// Attack: writes a few outputs only: faster than the bytes of the task can move.
/* plan
{"steps": [{"kernel": "k", "grid": ["ceil_div(out_numel, 16384)"], "block": [256],
            "args": ["a", "b", "out", "i32:out_numel"]}]}
*/
extern "C" __global__ void k(const float* a, const float* b, float* out, int n) {
  int i = (blockIdx.x * 256 + threadIdx.x) * 64;
  if (i < n) out[i] = a[i] + b[i];
}
