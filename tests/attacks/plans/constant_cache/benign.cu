// Look-alike, honest: a lookup table in __constant__ memory.
/* plan
{"steps": [{"kernel": "k", "grid": ["x_d0"], "block": [256], "args": ["x", "out", "i32:x_d1"]}]}
*/
__constant__ float shares[32] = {1.0f, 0.5f, 0.3333333333333333f, 0.25f, 0.2f, 0.16666666666666666f, 0.14285714285714285f, 0.125f, 0.1111111111111111f, 0.1f, 0.09090909090909091f, 0.08333333333333333f, 0.07692307692307693f, 0.07142857142857142f, 0.06666666666666667f, 0.0625f, 0.058823529411764705f, 0.05555555555555555f, 0.05263157894736842f, 0.05f, 0.047619047619047616f, 0.045454545454545456f, 0.043478260869565216f, 0.041666666666666664f, 0.04f, 0.038461538461538464f, 0.037037037037037035f, 0.03571428571428571f, 0.034482758620689655f, 0.03333333333333333f, 0.03225806451612903f, 0.03125f};

__device__ float wave(float x) {
  float sum = 1;
#pragma unroll 4
  for (int k = 1; k <= 32; ++k) sum += sinf(x * k) * shares[k - 1];
  return sum;
}

// Mean of wave over a row; thread 0 has it.
__device__ float row_mean(const float* row, int n) {
  __shared__ float partial[256];
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += 256) sum += wave(row[i]);
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  return partial[0] / n;
}
extern "C" __global__ void k(const float* x, float* out, int n) {
  const float* row = x + blockIdx.x * (long long)n;
  float mean = row_mean(row, n);
  if (threadIdx.x == 0) out[blockIdx.x] = mean;
}
