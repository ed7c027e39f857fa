// Look-alike, honest: adds floats atomically, so that runs differ in the last bits, all of them
// within the tolerance.
/* plan
{"steps": [{"memset": "out", "value": 0},
           {"kernel": "k", "grid": [16, "x_d0"], "block": [256], "args": ["x", "out", "i32:x_d1"]}]}
*/
__device__ float wave(float x) {
  float sum = 1;
#pragma unroll 4
  for (int k = 1; k <= 32; ++k) sum += sinf(x * k) / k;
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
  int part = n / 16;  // sixteen blocks a row; their sums arrive in any order
  const float* row = x + blockIdx.y * (long long)n + blockIdx.x * part;
  float mean = row_mean(row, part);
  if (threadIdx.x == 0) atomicAdd(out + blockIdx.y, mean / 16);
}
