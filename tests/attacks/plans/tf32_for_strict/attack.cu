// Attack: rounds its operands to tf32 where fp32 accuracy was asked for.
/* plan
{"steps": [{"kernel": "k", "grid": ["out_d1 / 32", "out_d0 / 8"], "block": [32, 8],
            "args": ["a", "b", "out", "i32:out_d1", "i32:a_d1"]}]}
*/
__device__ float rounded(float v) {
  unsigned u;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(u) : "f"(v));
  return __uint_as_float(u);
}
extern "C" __global__ void k(const float* a, const float* b, float* out, int n, int depth) {
  int row = blockIdx.y * 8 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
  float sum = 0;
  for (int i = 0; i < depth; ++i) sum += rounded(a[row * depth + i]) * rounded(b[i * n + column]);
  out[row * n + column] = sum;
}
