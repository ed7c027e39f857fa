// For vector_add. Broken on purpose: a stride of 4096 slipped into the store, so that most writes
// land far outside the output.
/* plan
{"steps": [{"kernel": "vector_add", "grid": ["ceil_div(out_numel, 256)"], "block": [256],
            "args": ["a", "b", "out", "i64:out_numel"]}]}
*/
extern "C" __global__ void vector_add(const float* a, const float* b, float* out, long long n) {
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) out[i * 4096] = a[i] + b[i];
}
