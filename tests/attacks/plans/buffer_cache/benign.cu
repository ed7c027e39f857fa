// Look-alike, honest: a scratch buffer that each launch writes before it reads it, with padding
// that is never read.
/* plan
{"buffers": {"kept": {"dtype": "f32", "shape": ["2 * x_d0"]}},
 "steps": [{"kernel": "k", "grid": ["x_d0"], "block": [256], "args": ["x", "out", "kept", "i32:x_d1"]}]}
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
extern "C" __global__ void k(const float* x, float* out, float* kept, int n) {
  const float* row = x + blockIdx.x * (long long)n;
  float mean = row_mean(row, n);
  if (threadIdx.x == 0) {  // the second half of the buffer is padding that nobody reads
    kept[blockIdx.x] = mean;
    out[blockIdx.x] = ((volatile float*)kept)[blockIdx.x];
  }
}
