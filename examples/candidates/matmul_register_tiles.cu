// Matrix product in FP32: a block makes 128 x 128 of the output, a thread 8 x 8 of it in registers.
// The next 8 columns of a and rows of b are fetched while the present ones are multiplied, in two
// buffers of shared memory. Sizes must be multiples of 128 (m, n) and 8 (k).
/* plan
{"steps": [{"kernel": "matmul", "grid": ["out_d1 / 128", "out_d0 / 128"], "block": [256],
            "args": ["a", "b", "out", "i32:out_d1", "i32:a_d1"]}]}
*/
constexpr int kTile = 128;   // rows and columns of the output, a block
constexpr int kDepth = 8;    // of a stage along k
constexpr int kThreads = 256;

extern "C" __global__ void __launch_bounds__(kThreads, 2)
    matmul(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ out, int n,
           int k) {
  __shared__ __align__(16) float tile_a[2][kDepth][kTile];  // transposed: [k][row]
  __shared__ __align__(16) float tile_b[2][kDepth][kTile];

  int t = threadIdx.x;
  // What this thread fetches of each stage: 4 floats of a row of a, 4 floats of a row of b.
  int a_row = t / 2, a_k = t % 2 * 4;
  int b_k = t / 32, b_column = t % 32 * 4;
  const float* from_a = a + (blockIdx.y * (long long)kTile + a_row) * k + a_k;
  const float* from_b = b + (long long)b_k * n + blockIdx.x * kTile + b_column;
  // What it computes: rows y..y+3 and y+64..y+67, columns x..x+3 and x+64..x+67.
  int x = t % 16 * 4, y = t / 16 * 4;

  float4 next_a = *reinterpret_cast<const float4*>(from_a);
  float4 next_b = *reinterpret_cast<const float4*>(from_b);
  float sum[8][8] = {};
  int stage = 0;
  for (int from = 0; from < k; from += kDepth) {
    tile_a[stage][a_k + 0][a_row] = next_a.x;
    tile_a[stage][a_k + 1][a_row] = next_a.y;
    tile_a[stage][a_k + 2][a_row] = next_a.z;
    tile_a[stage][a_k + 3][a_row] = next_a.w;
    *reinterpret_cast<float4*>(&tile_b[stage][b_k][b_column]) = next_b;
    __syncthreads();  // one barrier a stage: the other buffer was read before it
    if (from + kDepth < k) {
      from_a += kDepth;
      from_b += (long long)kDepth * n;
      next_a = *reinterpret_cast<const float4*>(from_a);
      next_b = *reinterpret_cast<const float4*>(from_b);
    }
#pragma unroll
    for (int d = 0; d < kDepth; ++d) {
      __align__(16) float p[8], q[8];
      *reinterpret_cast<float4*>(p) = *reinterpret_cast<float4*>(&tile_a[stage][d][y]);
      *reinterpret_cast<float4*>(p + 4) = *reinterpret_cast<float4*>(&tile_a[stage][d][y + 64]);
      *reinterpret_cast<float4*>(q) = *reinterpret_cast<float4*>(&tile_b[stage][d][x]);
      *reinterpret_cast<float4*>(q + 4) = *reinterpret_cast<float4*>(&tile_b[stage][d][x + 64]);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
#pragma unroll
        for (int j = 0; j < 8; ++j) sum[i][j] += p[i] * q[j];
      }
    }
    stage ^= 1;
  }

#pragma unroll
  for (int i = 0; i < 8; ++i) {
    int row = y + i % 4 + i / 4 * 64;
    float* target = out + (blockIdx.y * (long long)kTile + row) * n + blockIdx.x * kTile + x;
    *reinterpret_cast<float4*>(target) = make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
    *reinterpret_cast<float4*>(target + 64) =
        make_float4(sum[i][4], sum[i][5], sum[i][6], sum[i][7]);
  }
}
