// Transpose, one element a thread: reads are contiguous along a warp, writes are M elements apart.
/* plan
{"steps": [{"kernel": "transpose", "grid": ["ceil_div(x_d1, 32)", "ceil_div(x_d0, 8)"],
            "block": [32, 8], "args": ["x", "out", "i32:x_d0", "i32:x_d1"]}]}
*/
#ifndef real
#define real float
#endif

extern "C" __global__ void transpose(const real* __restrict__ x, real* __restrict__ out, int m,
                                     int n) {
  int column = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < m && column < n) out[(long long)column * m + row] = x[(long long)row * n + column];
}
