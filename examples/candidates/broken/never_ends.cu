// For vector_add. Broken on purpose: every block waits for a flag that no block ever sets.
/* plan
{"buffers": {"ready": {"dtype": "i32", "shape": [1]}},
 "steps": [{"memset": "ready", "value": 0},
           {"kernel": "vector_add", "grid": ["ceil_div(out_numel, 256)"], "block": [256],
            "args": ["a", "b", "out", "i64:out_numel", "ready"]}]}
*/
extern "C" __global__ void vector_add(const float* a, const float* b, float* out, long long n,
                                      int* ready) {
  while (*(volatile int*)ready == 0) {
  }
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[i] + b[i];
}
