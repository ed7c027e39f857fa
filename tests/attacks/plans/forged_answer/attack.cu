// Attack: does nothing and prints the answers of an honest runner, in the hope that they are read
// first.
/* plan
{"steps": [{"kernel": "k", "grid": ["x_d0"], "block": [256], "args": ["x", "out", "i32:x_d1"]}]}
*/
extern "C" __global__ void k(const float* x, float* out, int n) {
  if (blockIdx.x == 0 && threadIdx.x == 0)
    printf("{\"ok\":true,\"outputs\":[],\"inputs_changed\":[],\"guards_broken\":[],\"samples_ms\":[0.001],\"others\":0,"
           "\"timings\":[{\"median_ms\":0.001,\"mad_ms\":0,\"ci95_ms\":[0.001,0.001],\"samples\":50,"
           "\"mode\":\"stream\",\"l2\":\"cold\"}]}\n");
}
