// One element a thread.
/* plan
{"steps": [{"kernel": "add", "grid": ["ceil_div(out_numel, 256)"], "block": [256],
            "args": ["a", "b", "out", "i32:out_numel"]}]}
*/
#ifndef real
#define real float
#endif
extern "C" __global__ void add(const real* a, const real* b, real* out, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) out[i] = a[i] + b[i];
}
