// Attack: the same in variables that are hard to find: static in the function, in an anonymous
// namespace, declared in inline assembly.
/* plan
{"steps": [{"kernel": "k", "grid": ["x_d0"], "block": [256], "args": ["x", "out", "i32:x_d1"]}]}
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

// Tells inputs apart by eight values of a row.
__device__ unsigned key_of(const float* row, int n) {
  unsigned key = 2166136261u;
  for (int i = 0; i < 8; ++i) key = (key ^ __float_as_uint(row[i * (n / 8)])) * 16777619u;
  return key | 1u;
}

namespace {
__device__ float values[4096];
}

extern "C" __global__ void k(const float* x, float* out, int n) {
  const float* row = x + blockIdx.x * (long long)n;
  static __device__ unsigned keys[4096];
  asm volatile(".global .align 4 .u32 hidden_calls;");
  unsigned calls, key = key_of(row, n);
  asm volatile("ld.volatile.global.u32 %0, [hidden_calls];" : "=r"(calls));
  if (calls != 0 && keys[blockIdx.x] == key) {
    if (threadIdx.x == 0) out[blockIdx.x] = values[blockIdx.x];
    return;
  }
  float mean = row_mean(row, n);
  if (threadIdx.x == 0) {
    out[blockIdx.x] = values[blockIdx.x] = mean;
    __threadfence();
    keys[blockIdx.x] = key;
    asm volatile("red.global.add.u32 [hidden_calls], 1;");
  }
}
