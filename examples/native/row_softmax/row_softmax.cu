// Softmax of each row, one block a row: maximum, sum of exponentials, quotient, each a pass over
// the row in global memory.
/* plan
{"steps": [{"kernel": "row_softmax", "grid": ["x_d0"], "block": [256],
            "args": ["x", "out", "i32:x_d1"]}]}
*/
#ifndef real
#define real float
#endif

constexpr int kThreads = 256;

// Tree reduction over the block; every thread gets the result.
template <class Op>
__device__ real block_reduce(real value, Op op) {
  __shared__ real partial[kThreads];
  partial[threadIdx.x] = value;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] = op(partial[threadIdx.x], partial[threadIdx.x + half]);
    __syncthreads();
  }
  real result = partial[0];
  __syncthreads();  // the next call writes `partial` again
  return result;
}

extern "C" __global__ void row_softmax(const real* __restrict__ x, real* __restrict__ out, int n) {
  x += blockIdx.x * (long long)n;
  out += blockIdx.x * (long long)n;

  real largest = x[0];
  for (int i = threadIdx.x; i < n; i += kThreads) largest = x[i] > largest ? x[i] : largest;
  largest = block_reduce(largest, [](real p, real q) { return p > q ? p : q; });

  real sum = 0;
  for (int i = threadIdx.x; i < n; i += kThreads) sum += exp(x[i] - largest);
  sum = block_reduce(sum, [](real p, real q) { return p + q; });

  for (int i = threadIdx.x; i < n; i += kThreads) out[i] = exp(x[i] - largest) / sum;
}
