/* plan
{"steps": [{"kernel": "probe", "grid": [1], "block": [32], "args": []}]}
*/
extern "C" __global__ void probe() {}
