// Mean over each row of 1 + sum of sin(k x) / k, k = 1 to 32. One block a row.
/* plan
{"steps": [{"kernel": "row_wave", "grid": ["x_d0"], "block": [256], "args": ["x", "out", "i32:x_d1"]}]}
*/
#ifndef real
#define real float
#endif

__device__ real wave(real x) {
  real sum = 1;
#pragma unroll 4
  for (int k = 1; k <= 32; ++k) sum += sin(x * k) / k;
  return sum;
}

extern "C" __global__ void row_wave(const real* x, real* out, int n) {
  __shared__ real partial[256];
  real sum = 0;
  for (int i = threadIdx.x; i < n; i += 256) sum += wave(x[blockIdx.x * (long long)n + i]);
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = partial[0] / n;
}
