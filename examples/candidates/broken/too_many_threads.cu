// For vector_add. Broken on purpose: a block of 2000 threads, more than any device runs.
/* plan
{"steps": [{"kernel": "vector_add", "grid": ["ceil_div(out_numel, 2000)"], "block": [2000],
            "args": ["a", "b", "out", "i64:out_numel"]}]}
*/
extern "C" __global__ void vector_add(const float* a, const float* b, float* out, long long n) {
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[i] + b[i];
}
