// What the logs beside this file were recorded with, for the reader's tests:
//   nvcc -arch=sm_90a -lineinfo -o record record.cu
//   for tool in memcheck racecheck initcheck synccheck; do
//     for case in clean out_of_bounds misaligned race uninitialised barrier; do
//       compute-sanitizer --tool $tool --show-backtrace no --print-limit 50 --log-file $tool.$case.txt ./record $case
//     done; done
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" __global__ void clean(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2.0f * x[i];
}

template <int step>
__global__ void out_of_bounds(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i + step * n] = x[i];
}

extern "C" __global__ void misaligned(const float* x, float* y) {
  *reinterpret_cast<float*>(reinterpret_cast<char*>(y) + 4 * threadIdx.x + 2) = x[threadIdx.x];
}

extern "C" __global__ void race(const float* x, float* y) {
  __shared__ float shared[64];
  shared[threadIdx.x] = x[threadIdx.x];
  // a barrier is missing here
  y[threadIdx.x] = shared[63 - threadIdx.x];
}

extern "C" __global__ void uninitialised(const float* scratch, float* y) {
  y[threadIdx.x] = scratch[threadIdx.x] + 1.0f;
}

extern "C" __global__ void barrier(const float* x, float* y) {
  if (threadIdx.x < 13) __syncthreads();  // part of a warp
  y[threadIdx.x] = x[threadIdx.x];
}

int main(int argc, char** argv) {
  alarm(5);  // a barrier that is never reached must not keep the GPU busy
  const char* which = argc > 1 ? argv[1] : "clean";
  const int n = 1024;
  float *x, *y, *scratch;
  cudaMalloc(&x, n * 4);
  cudaMalloc(&y, n * 4);
  cudaMalloc(&scratch, n * 4);
  cudaMemset(x, 0, n * 4);
  cudaMemset(y, 0, n * 4);
  if (!std::strcmp(which, "clean")) clean<<<4, 256>>>(x, y, n);
  if (!std::strcmp(which, "out_of_bounds")) out_of_bounds<1><<<4, 256>>>(x, y, n);
  if (!std::strcmp(which, "misaligned")) misaligned<<<1, 64>>>(x, y);
  if (!std::strcmp(which, "race")) race<<<1, 64>>>(x, y);
  if (!std::strcmp(which, "uninitialised")) uninitialised<<<1, 64>>>(scratch, y);
  if (!std::strcmp(which, "barrier")) barrier<<<1, 128>>>(x, y);
  std::printf("%s: %s\n", which, cudaGetErrorString(cudaDeviceSynchronize()));
}
