// For vector_add. Broken on purpose: the index has another name where it is used (line 9).
/* plan
{"steps": [{"kernel": "vector_add", "grid": ["ceil_div(out_numel, 256)"], "block": [256],
            "args": ["a", "b", "out", "i64:out_numel"]}]}
*/
extern "C" __global__ void vector_add(const float* a, const float* b, float* out, long long n) {
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) {
    out[i] = a[idx] + b[idx];
  }
}
