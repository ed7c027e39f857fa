// Elementwise sum, one element a thread.
/* plan
{"steps": [{"kernel": "vector_add", "grid": ["ceil_div(out_numel, 256)"], "block": [256],
            "args": ["a", "b", "out", "i64:out_numel"]}]}
*/
#ifndef real
#define real float
#endif

extern "C" __global__ void vector_add(const real* __restrict__ a, const real* __restrict__ b,
                                      real* __restrict__ out, long long n) {
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[i] + b[i];
}
