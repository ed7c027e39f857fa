// Matrix product with 16 x 16 tiles of both operands in shared memory, one element a thread.
/* plan
{"steps": [{"kernel": "matmul", "grid": ["ceil_div(out_d1, 16)", "ceil_div(out_d0, 16)"],
            "block": [16, 16],
            "args": ["a", "b", "out", "i32:out_d0", "i32:out_d1", "i32:a_d1"]}]}
*/
#ifndef real
#define real float
#endif

constexpr int kTile = 16;

extern "C" __global__ void matmul(const real* __restrict__ a, const real* __restrict__ b,
                                  real* __restrict__ out, int m, int n, int k) {
  __shared__ real tile_a[kTile][kTile];
  __shared__ real tile_b[kTile][kTile];
  int row = blockIdx.y * kTile + threadIdx.y;
  int column = blockIdx.x * kTile + threadIdx.x;

  real sum = 0;
  for (int from = 0; from < k; from += kTile) {
    int ka = from + threadIdx.x;
    int kb = from + threadIdx.y;
    tile_a[threadIdx.y][threadIdx.x] = row < m && ka < k ? a[(long long)row * k + ka] : real(0);
    tile_b[threadIdx.y][threadIdx.x] = column < n && kb < k ? b[(long long)kb * n + column] : real(0);
    __syncthreads();
    for (int i = 0; i < kTile; ++i) sum += tile_a[threadIdx.y][i] * tile_b[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && column < n) out[(long long)row * n + column] = sum;
}
