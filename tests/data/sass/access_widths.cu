// Loads and stores of every width, a loop, shared memory, a barrier, local memory, an atomic, a
// call (double division), asynchronous copies and tensor-core instructions.
#include <cuda_fp16.h>

#include <cstdint>

__device__ float scaled(float x) {
  return x * 3.0f;
}

extern "C" __global__ void widths(const float4* a4, const float2* a2, const float* a1,
                                  const __half* h, const unsigned char* c, float4* o4, float2* o2,
                                  float* o1, __half* oh, unsigned char* oc) {
  int i = threadIdx.x;
  o4[i] = a4[i];
  o2[i] = a2[i];
  o1[i] = scaled(a1[i]);
  oh[i] = h[i];
  oc[i] = c[i];
}

extern "C" __global__ void block_sum(const float* x, float* y, int n) {
  __shared__ float part[256];
  float s = 0;
#pragma unroll 1
  for (int i = threadIdx.x; i < n; i += 256) s += x[i];
  part[threadIdx.x] = s;
  __syncthreads();
  if (threadIdx.x < 128) part[threadIdx.x] += part[threadIdx.x + 128];
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(y, part[0] + part[1]);
}

extern "C" __global__ void local_array(const int* index, double* y, double d) {
  double v[8];
  for (int i = 0; i < 8; ++i) v[i] = y[i];
  y[threadIdx.x] = v[index[threadIdx.x] & 7] / d;
}

extern "C" __global__ void copies(const float4* x, float4* y) {
  __shared__ float4 tile[128];
  unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(&tile[threadIdx.x]));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(x + threadIdx.x));
  asm volatile("cp.async.wait_all;");
  __syncthreads();
  y[threadIdx.x] = tile[127 - threadIdx.x];
}

extern "C" __global__ void matrix(const __half* a, const __half* b, float* c) {
  __shared__ __half sa[16 * 16], sb[16 * 8];
#pragma unroll 1
  for (int i = threadIdx.x; i < 256; i += 32) sa[i] = a[i];
#pragma unroll 1
  for (int i = threadIdx.x; i < 128; i += 32) sb[i] = b[i];
  __syncthreads();
  unsigned ra[4], rb[2];
  unsigned pa = static_cast<unsigned>(__cvta_generic_to_shared(&sa[(threadIdx.x % 16) * 16]));
  unsigned pb = static_cast<unsigned>(__cvta_generic_to_shared(&sb[(threadIdx.x % 16) * 8]));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3])
               : "r"(pa));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
               : "=r"(rb[0]), "=r"(rb[1])
               : "r"(pb));
  float d[4] = {0, 0, 0, 0};
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
  for (int i = 0; i < 4; ++i) c[threadIdx.x * 4 + i] = d[i];
}

#if __CUDA_ARCH_FEAT_SM90_ALL
extern "C" __global__ void warp_group(std::uint64_t da, std::uint64_t db, float* c) {
  float d[4] = {0, 0, 0, 0};
  asm volatile("wgmma.fence.sync.aligned;");
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0,%1,%2,%3}, %4, %5, 1, 1, 1, 0, 0;"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "l"(da), "l"(db));
  asm volatile("wgmma.commit_group.sync.aligned;");
  asm volatile("wgmma.wait_group.sync.aligned 0;");
  for (int i = 0; i < 4; ++i) c[threadIdx.x * 4 + i] = d[i];
}
#endif
namespace ns {
template <class T, int N>
__global__ void fill(T* y) {
#pragma unroll 1
  for (int r = 0; r < 7; ++r) {
#pragma unroll 1
    for (int i = threadIdx.x; i < N; i += 32) y[r * N + i] = T(i);
  }
}
}  // namespace ns
template __global__ void ns::fill<float, 100>(float*);
