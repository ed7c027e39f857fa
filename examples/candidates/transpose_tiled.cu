// Transpose by tiles of 32 x 32 through shared memory, so that reads and writes are both contiguous.
// The extra column moves a tile's column over all 32 banks.
/* plan
{"steps": [{"kernel": "transpose", "grid": ["ceil_div(x_d1, 32)", "ceil_div(x_d0, 32)"],
            "block": [32, 8], "args": ["x", "out", "i32:x_d0", "i32:x_d1"]}]}
*/
constexpr int kTile = 32;
constexpr int kRows = 8;  // of threads: each moves kTile / kRows elements

extern "C" __global__ void __launch_bounds__(kTile* kRows)
    transpose(const float* __restrict__ x, float* __restrict__ out, int m, int n) {
  __shared__ float tile[kTile][kTile + 1];
  int column = blockIdx.x * kTile + threadIdx.x;
  int row = blockIdx.y * kTile + threadIdx.y;
#pragma unroll
  for (int i = 0; i < kTile; i += kRows) {
    if (row + i < m && column < n)
      tile[threadIdx.y + i][threadIdx.x] = x[(long long)(row + i) * n + column];
  }
  __syncthreads();
  int out_column = blockIdx.y * kTile + threadIdx.x;
  int out_row = blockIdx.x * kTile + threadIdx.y;
#pragma unroll
  for (int i = 0; i < kTile; i += kRows) {
    if (out_row + i < n && out_column < m)
      out[(long long)(out_row + i) * m + out_column] = tile[threadIdx.x][threadIdx.y + i];
  }
}
