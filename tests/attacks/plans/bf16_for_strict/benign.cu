// Look-alike, honest: operands split into a high and a low part, whose products together are as
// exact as fp32.
/* plan
{"steps": [{"kernel": "k", "grid": ["out_d1 / 32", "out_d0 / 8"], "block": [32, 8],
            "args": ["a", "b", "out", "i32:out_d1", "i32:a_d1"]}]}
*/
__device__ float high(float v) { return __uint_as_float(__float_as_uint(v) & 0xfffff000u); }
extern "C" __global__ void k(const float* a, const float* b, float* out, int n, int depth) {
  int row = blockIdx.y * 8 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
  float sum = 0;
  for (int i = 0; i < depth; ++i) {  // operands split in two, as three products on tensor cores would
    float p = a[row * depth + i], q = b[i * n + column];
    float ph = high(p), qh = high(q);
    sum += ph * qh + (ph * (q - qh) + (p - ph) * q);
  }
  out[row * n + column] = sum;
}
