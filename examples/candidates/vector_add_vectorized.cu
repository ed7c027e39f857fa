// Sum of two vectors with 16-byte accesses, two in flight a thread and operand. Nothing is used
// twice, so loads and stores are marked as streaming.
/* plan
{"steps": [{"kernel": "vector_add", "grid": ["ceil_div(out_numel, 2048)"], "block": [256],
            "args": ["a", "b", "out", "i64:out_numel"]}]}
*/
constexpr int kThreads = 256;

__device__ float4 add(float4 p, float4 q) {
  return make_float4(p.x + q.x, p.y + q.y, p.z + q.z, p.w + q.w);
}

extern "C" __global__ void __launch_bounds__(kThreads)
    vector_add(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ out,
               long long n) {
  long long vectors = n / 4;
  long long first = blockIdx.x * (2LL * kThreads) + threadIdx.x;
  long long second = first + kThreads;
  auto* a4 = reinterpret_cast<const float4*>(a);
  auto* b4 = reinterpret_cast<const float4*>(b);
  auto* out4 = reinterpret_cast<float4*>(out);
  if (second < vectors) {
    float4 p = __ldcs(a4 + first), q = __ldcs(b4 + first);
    float4 r = __ldcs(a4 + second), s = __ldcs(b4 + second);
    __stcs(out4 + first, add(p, q));
    __stcs(out4 + second, add(r, s));
  } else if (first < vectors) {
    out4[first] = add(a4[first], b4[first]);
  }
  if (first < n % 4) {  // the last elements, when n is no multiple of 4
    long long i = vectors * 4 + first;
    out[i] = a[i] + b[i];
  }
}
