// Layer norm, one block a row. The variance is taken from the differences to the mean (a second
// pass), which stays exact where the mean is large.
/* plan
{"steps": [{"kernel": "layer_norm", "grid": ["x_d0"], "block": [256],
            "args": ["x", "weight", "bias", "out", "i32:x_d1", "real:eps"]}]}
*/
#ifndef real
#define real float
#endif

constexpr int kThreads = 256;

__device__ real block_sum(real value) {
  __shared__ real partial[kThreads];
  partial[threadIdx.x] = value;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  real result = partial[0];
  __syncthreads();  // the next call writes `partial` again
  return result;
}

extern "C" __global__ void layer_norm(const real* __restrict__ x, const real* __restrict__ weight,
                                      const real* __restrict__ bias, real* __restrict__ out, int n,
                                      real eps) {
  x += blockIdx.x * (long long)n;
  out += blockIdx.x * (long long)n;

  real sum = 0;
  for (int i = threadIdx.x; i < n; i += kThreads) sum += x[i];
  real mean = block_sum(sum) / n;

  real squares = 0;
  for (int i = threadIdx.x; i < n; i += kThreads) squares += (x[i] - mean) * (x[i] - mean);
  real scale = real(1) / sqrt(block_sum(squares) / n + eps);

  for (int i = threadIdx.x; i < n; i += kThreads)
    out[i] = (x[i] - mean) * scale * weight[i] + bias[i];
}
