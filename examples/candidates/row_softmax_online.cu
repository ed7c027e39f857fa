// Softmax of each row, one block a row. One pass finds maximum and sum of exponentials together: the
// running sum is rescaled whenever the maximum grows. The second pass finds the row in the caches.
// Rows are read 16 bytes at a time: their length must be a multiple of 4.
/* plan
{"steps": [{"kernel": "row_softmax", "grid": ["x_d0"], "block": [512],
            "args": ["x", "out", "i32:x_d1"]}]}
*/
constexpr int kThreads = 512;
constexpr int kWarps = kThreads / 32;
constexpr float kLowest = -3.402823466e38f;  // the maximum of nothing; finite, so that no NaN arises

// Of a part of a row: its maximum, and the sum of exp(element - maximum).
struct Part {
  float largest;
  float sum;
};

__device__ Part merge(Part p, Part q) {
  float largest = fmaxf(p.largest, q.largest);
  return {largest, p.sum * expf(p.largest - largest) + q.sum * expf(q.largest - largest)};
}

__device__ Part merge_warp(Part part) {
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    Part other{__shfl_xor_sync(0xffffffffu, part.largest, lanes),
               __shfl_xor_sync(0xffffffffu, part.sum, lanes)};
    part = merge(part, other);
  }
  return part;
}

extern "C" __global__ void __launch_bounds__(kThreads)
    row_softmax(const float* __restrict__ x, float* __restrict__ out, int n) {
  auto* row = reinterpret_cast<const float4*>(x + blockIdx.x * (long long)n);
  auto* target = reinterpret_cast<float4*>(out + blockIdx.x * (long long)n);

  Part part{kLowest, 0.0f};
  for (int i = threadIdx.x; i < n / 4; i += kThreads) {
    float4 v = row[i];
    float largest = fmaxf(fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)), kLowest);
    float sum = expf(v.x - largest) + expf(v.y - largest) + expf(v.z - largest) +
                expf(v.w - largest);
    part = merge(part, {largest, sum});
  }

  __shared__ Part parts[kWarps];
  part = merge_warp(part);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = part;
  __syncthreads();
  part = threadIdx.x % 32 < kWarps ? parts[threadIdx.x % 32] : Part{kLowest, 0.0f};
  part = merge_warp(part);  // every warp does the same, so no second exchange is needed

  float scale = 1.0f / part.sum;
  for (int i = threadIdx.x; i < n / 4; i += kThreads) {
    float4 v = row[i];
    __stcs(target + i, make_float4(expf(v.x - part.largest) * scale, expf(v.y - part.largest) * scale,
                                   expf(v.z - part.largest) * scale,
                                   expf(v.w - part.largest) * scale));
  }
}
