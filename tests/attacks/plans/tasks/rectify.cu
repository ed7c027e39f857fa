// One element a thread.
/* plan
{"steps": [{"kernel": "rectify", "grid": ["ceil_div(out_numel, 256)"], "block": [256],
            "args": ["x", "out", "i32:out_numel"]}]}
*/
#ifndef real
#define real float
#endif
extern "C" __global__ void rectify(const real* x, real* out, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) out[i] = x[i] < 0 ? 0 : x[i];
}
