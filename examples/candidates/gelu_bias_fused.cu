// Bias and exact GELU in one pass: x is read once and the sum is never stored. One block works on
// 1024 columns of a row; the number of columns must be a multiple of 4.
/* plan
{"steps": [{"kernel": "gelu_bias", "grid": ["ceil_div(x_d1, 1024)", "x_d0"], "block": [256],
            "args": ["x", "bias", "out", "i32:x_d1"]}]}
*/
constexpr int kThreads = 256;

__device__ float gelu(float v) { return 0.5f * v * (1.0f + erff(v * 0.70710678118654752f)); }

extern "C" __global__ void __launch_bounds__(kThreads)
    gelu_bias(const float* __restrict__ x, const float* __restrict__ bias, float* __restrict__ out,
              int columns) {
  int column = (blockIdx.x * kThreads + threadIdx.x) * 4;
  if (column >= columns) return;
  long long at = blockIdx.y * (long long)columns + column;
  float4 v = __ldcs(reinterpret_cast<const float4*>(x + at));
  float4 b = *reinterpret_cast<const float4*>(bias + column);
  __stcs(reinterpret_cast<float4*>(out + at), make_float4(gelu(v.x + b.x), gelu(v.y + b.y),
                                                          gelu(v.z + b.z), gelu(v.w + b.w)));
}
