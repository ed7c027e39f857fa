/* plan
{
  "buffers": {"peak_bits": {"dtype": "i32", "shape": [1]}},
  "steps": [
    {"memset": "peak_bits", "value": 0},
    {"kernel": "find_peak", "grid": ["min(ceil_div(x_numel, 1024), 2048)"], "block": [256],
     "args": ["x", "peak_bits", "i64:x_numel"]},
    {"kernel": "scale", "grid": ["ceil_div(x_numel, 1024)"], "block": [256],
     "args": ["x", "peak_bits", "y", "f32:eps", "i64:x_numel"]}
  ]
}
*/
// Floats that are not negative are ordered as their bits are, so an integer maximum finds max(|x|).
extern "C" __global__ void __launch_bounds__(256)
find_peak(const float* __restrict__ x, int* __restrict__ peak_bits, long long n) {
  float peak = 0.0f;
  for (long long i = blockIdx.x * 256LL + threadIdx.x; i < n; i += gridDim.x * 256LL)
    peak = fmaxf(peak, fabsf(x[i]));
  for (int lane = 16; lane > 0; lane /= 2)
    peak = fmaxf(peak, __shfl_xor_sync(0xffffffffu, peak, lane));
  if (threadIdx.x % 32 == 0) atomicMax(peak_bits, __float_as_int(peak));
}

extern "C" __global__ void __launch_bounds__(256)
scale(const float* __restrict__ x, const int* __restrict__ peak_bits, float* __restrict__ y,
      float eps, long long n) {
  float divisor = __int_as_float(*peak_bits) + eps;
  long long i = 4 * (blockIdx.x * 256LL + threadIdx.x);
  if (i + 3 < n) {  // 128 bits a thread
    float4 v = *reinterpret_cast<const float4*>(x + i);
    v = make_float4(v.x / divisor, v.y / divisor, v.z / divisor, v.w / divisor);
    *reinterpret_cast<float4*>(y + i) = v;
  } else {
    for (; i < n; ++i) y[i] = x[i] / divisor;
  }
}
