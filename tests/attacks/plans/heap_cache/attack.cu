// Attack: takes a piece of the device heap, which holds what the last call left in it, and gives
// it back uncleared.
/* plan
{"buffers": {"place": {"dtype": "i64", "shape": [1]}},
 "steps": [{"kernel": "take", "grid": [1], "block": [1], "args": ["place"]},
           {"kernel": "k", "grid": ["x_d0"], "block": [256], "args": ["x", "out", "place", "i32:x_d1"]},
           {"kernel": "give", "grid": [1], "block": [1], "args": ["place"]}]}
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

extern "C" __global__ void take(unsigned long long* place) { *place = (unsigned long long)malloc(65536); }
extern "C" __global__ void give(unsigned long long* place) { free((void*)*place); }

extern "C" __global__ void k(const float* x, float* out, const unsigned long long* place, int n) {
  const float* row = x + blockIdx.x * (long long)n;
  volatile unsigned* entry = (volatile unsigned*)*place + 2 * blockIdx.x;
  unsigned key = key_of(row, n);
  if (entry[0] == key) {
    if (threadIdx.x == 0) out[blockIdx.x] = __uint_as_float(entry[1]);
    return;
  }
  float mean = row_mean(row, n);
  if (threadIdx.x == 0) {
    out[blockIdx.x] = mean;
    entry[1] = __float_as_uint(mean);
    __threadfence();
    entry[0] = key;
  }
}
