// Layer norm of rows of 4096: a row stays in the registers of its block, so that it is read once
// and the variance still comes from the differences to the mean.
/* plan
{"steps": [{"kernel": "layer_norm", "grid": ["x_numel / 4096"], "block": [256],
            "args": ["x", "weight", "bias", "out", "f32:eps"]}]}
*/
constexpr int kColumns = 4096;
constexpr int kThreads = 256;
constexpr int kVectors = kColumns / 4 / kThreads;  // of 4 floats, a thread

__device__ float block_sum(float value, float* partial) {
  for (int lanes = 16; lanes > 0; lanes /= 2) value += __shfl_xor_sync(0xffffffffu, value, lanes);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
  __syncthreads();
  float sum = 0.0f;
  for (int warp = 0; warp < kThreads / 32; ++warp) sum += partial[warp];
  return sum;
}

extern "C" __global__ void __launch_bounds__(kThreads)
    layer_norm(const float* __restrict__ x, const float* __restrict__ weight,
               const float* __restrict__ bias, float* __restrict__ out, float eps) {
  __shared__ float partial[2][kThreads / 32];  // one for each sum: no barrier between them
  auto* row = reinterpret_cast<const float4*>(x) + blockIdx.x * (long long)(kColumns / 4);
  auto* target = reinterpret_cast<float4*>(out) + blockIdx.x * (long long)(kColumns / 4);

  float4 v[kVectors];
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    v[i] = __ldcs(row + i * kThreads + threadIdx.x);
    sum += (v[i].x + v[i].y) + (v[i].z + v[i].w);
  }
  float mean = block_sum(sum, partial[0]) / kColumns;

  float squares = 0.0f;
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    v[i] = make_float4(v[i].x - mean, v[i].y - mean, v[i].z - mean, v[i].w - mean);
    squares += (v[i].x * v[i].x + v[i].y * v[i].y) + (v[i].z * v[i].z + v[i].w * v[i].w);
  }
  float scale = 1.0f / sqrtf(block_sum(squares, partial[1]) / kColumns + eps);

#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    int at = i * kThreads + threadIdx.x;
    float4 w = reinterpret_cast<const float4*>(weight)[at];
    float4 b = reinterpret_cast<const float4*>(bias)[at];
    __stcs(target + at, make_float4(v[i].x * scale * w.x + b.x, v[i].y * scale * w.y + b.y,
                                    v[i].z * scale * w.z + b.z, v[i].w * scale * w.w + b.w));
  }
}
