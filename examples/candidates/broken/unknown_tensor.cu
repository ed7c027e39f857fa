// For vector_add. Broken on purpose: the plan passes "outp"; the task's tensor is "out".
/* plan
{"steps": [{"kernel": "vector_add", "grid": ["ceil_div(a_numel, 256)"], "block": [256],
            "args": ["a", "b", "outp", "i64:a_numel"]}]}
*/
extern "C" __global__ void vector_add(const float* a, const float* b, float* out, long long n) {
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[i] + b[i];
}
