// One element of the output a thread.
/* plan
{"steps": [{"kernel": "product", "grid": ["out_d1 / 32", "out_d0 / 8"], "block": [32, 8],
            "args": ["a", "b", "out", "i32:out_d1", "i32:a_d1"]}]}
*/
#ifndef real
#define real float
#endif
extern "C" __global__ void product(const real* a, const real* b, real* out, int n, int k) {
  int row = blockIdx.y * 8 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
  real sum = 0;
  for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + column];
  out[row * n + column] = sum;
}
