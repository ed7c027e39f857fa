// Kernels that the runner itself needs: a checksum of what a candidate must not change, and the loads
// that measure a device's ceilings. Compiled once a device through the same build as candidates.
//
// Each ceiling kernel does nothing but its own operation, from registers or shared memory, on random
// values: on zeros a matrix unit draws less power and looks faster than it is.
#include <cstdint>

typedef unsigned long long u64;

__device__ __forceinline__ u64 mix(u64 x) {  // splitmix64, as base/rng.h
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// A piece of memory; the tables of them are in device memory. Region blockIdx.y is a block's own.
struct Region {
  u64 address;
  u64 bytes;
};

// A word's share of the checksum: the NH hash (Black and others, UMAC, 1999) with keys by index.
__device__ __forceinline__ u64 share(u64 word, u64 i, u64 key) {
  unsigned a = (unsigned)word + ((unsigned)i * 0x9e3779b1u ^ (unsigned)key);
  unsigned b = (unsigned)(word >> 32) + ((unsigned)i * 0x85ebca77u ^ (unsigned)(key >> 32));
  return (u64)a * b + (i >> 32);
}

// sums[region] += the shares of its 8-byte words: any change shows (but for one in 2^32), and who
// does not know the key cannot make up for it elsewhere. Regions lie on 16 bytes.
extern "C" __global__ void kp_checksums(const Region* regions, u64* sums, u64 key) {
  const unsigned char* p = reinterpret_cast<const unsigned char*>(regions[blockIdx.y].address);
  const ulonglong2* pairs = reinterpret_cast<const ulonglong2*>(p);
  u64 bytes = regions[blockIdx.y].bytes;
  u64 count = bytes / 16;
  u64 stride = (u64)gridDim.x * blockDim.x;
  u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x;
  u64 sum = 0;
  for (; i + 3 * stride < count; i += 4 * stride) {
    ulonglong2 v[4];
#pragma unroll
    for (int u = 0; u < 4; ++u) v[u] = pairs[i + u * stride];
#pragma unroll
    for (int u = 0; u < 4; ++u) {
      u64 at = 2 * (i + u * stride);
      sum += share(v[u].x, at, key) + share(v[u].y, at + 1, key);
    }
  }
  for (; i < count; i += stride) {
    ulonglong2 v = pairs[i];
    sum += share(v.x, 2 * i, key) + share(v.y, 2 * i + 1, key);
  }
  if (blockIdx.x == 0 && threadIdx.x < bytes % 16)
    sum += mix(p[count * 16 + threadIdx.x] ^ mix((count * 16 + threadIdx.x) ^ key));
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(~0u, sum, offset);
  if (threadIdx.x % 32 == 0 && sum != 0) atomicAdd(sums + blockIdx.y, sum);
}

// Fills with *pattern; the bytes behind the last whole word too. Addresses are multiples of 4.
extern "C" __global__ void kp_fill(const Region* regions, const unsigned* pattern) {
  unsigned char* p = reinterpret_cast<unsigned char*>(regions[blockIdx.y].address);
  u64 bytes = regions[blockIdx.y].bytes;
  unsigned v = *pattern;
  u64 first = blockIdx.x * (u64)blockDim.x + threadIdx.x;
  u64 stride = (u64)gridDim.x * blockDim.x;
  u64 quads = regions[blockIdx.y].address % 16 == 0 ? bytes / 16 : 0;
  for (u64 i = first; i < quads; i += stride)
    reinterpret_cast<uint4*>(p)[i] = make_uint4(v, v, v, v);
  for (u64 i = quads * 4 + first; i < bytes / 4; i += stride) reinterpret_cast<unsigned*>(p)[i] = v;
  if (blockIdx.x == 0 && threadIdx.x == 0)
    for (u64 b = bytes / 4 * 4; b < bytes; ++b) p[b] = (unsigned char)(v >> b % 4 * 8);
}

// others[region] += words that are not *pattern.
extern "C" __global__ void kp_count_others(const Region* regions, const unsigned* pattern,
                                           u64* others) {
  const unsigned* p = reinterpret_cast<const unsigned*>(regions[blockIdx.y].address);
  u64 count = 0;
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < regions[blockIdx.y].bytes / 4;
       i += (u64)gridDim.x * blockDim.x)
    count += p[i] != *pattern;
  if (count != 0) atomicAdd(others + blockIdx.y, count);
}

// Shared memory keeps its bits from one launch to the next. One block a multiprocessor, with all of
// it.
extern "C" __global__ void kp_scrub_shared(unsigned bytes, const unsigned* pattern) {
  extern __shared__ unsigned shared[];
  for (unsigned i = threadIdx.x; i < bytes / 4; i += blockDim.x) shared[i] = *pattern;
  __syncthreads();
  if (shared[threadIdx.x] != *pattern) __trap();
}

// So does local memory. As many threads as the device holds at once.
template <int words>
__device__ __forceinline__ void scrub_local(const unsigned* pattern) {
  volatile unsigned local[words];
  for (int i = 0; i < words; ++i) local[i] = *pattern;
  if (local[threadIdx.x % words] != *pattern) __trap();
}
extern "C" __global__ void kp_scrub_local_1k(const unsigned* pattern) { scrub_local<256>(pattern); }
extern "C" __global__ void kp_scrub_local_16k(const unsigned* pattern) { scrub_local<4096>(pattern); }

__device__ __forceinline__ double wide(double v) { return v; }
__device__ __forceinline__ double wide(float v) { return v; }
struct Half {
  unsigned short bits;
};
struct Bfloat {
  unsigned short bits;
};
__device__ __forceinline__ double wide(Half v) {
  float f;
  asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(v.bits));
  return f;
}
__device__ __forceinline__ double wide(Bfloat v) { return __uint_as_float((unsigned)v.bits << 16); }

// result[0] += the sum of squares of out - truth; result[1] = the largest |out - truth|, in the order
// of the bits of non-negative doubles: a NaN is the largest of all and stays.
template <class T>
__device__ __forceinline__ void compare(const double* truth, const T* out, u64 n, double* result) {
  u64 stride = (u64)gridDim.x * blockDim.x;
  u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x;
  double sum = 0;
  u64 largest = 0;
  auto take = [&](double t, T o) {
    double error = fabs(wide(o) - t);
    sum += error * error;
    u64 bits = (u64)__double_as_longlong(error);
    if (bits > largest) largest = bits;
  };
  for (; i + 3 * stride < n; i += 4 * stride) {
    double t[4];
    T o[4];
#pragma unroll
    for (int u = 0; u < 4; ++u) {
      t[u] = truth[i + u * stride];
      o[u] = out[i + u * stride];
    }
#pragma unroll
    for (int u = 0; u < 4; ++u) take(t[u], o[u]);
  }
  for (; i < n; i += stride) take(truth[i], out[i]);
  for (int offset = 16; offset > 0; offset /= 2) {
    sum += __shfl_down_sync(~0u, sum, offset);
    u64 other = __shfl_down_sync(~0u, largest, offset);
    if (other > largest) largest = other;
  }
  if (threadIdx.x % 32 == 0) {
    atomicAdd(result, sum);
    atomicMax(reinterpret_cast<u64*>(result + 1), largest);
  }
}
extern "C" __global__ void kp_compare_f64(const double* truth, const double* out, u64 n, double* r) {
  compare(truth, out, n, r);
}
extern "C" __global__ void kp_compare_f32(const double* truth, const float* out, u64 n, double* r) {
  compare(truth, out, n, r);
}
extern "C" __global__ void kp_compare_f16(const double* truth, const Half* out, u64 n, double* r) {
  compare(truth, out, n, r);
}
extern "C" __global__ void kp_compare_bf16(const double* truth, const Bfloat* out, u64 n, double* r) {
  compare(truth, out, n, r);
}

extern "C" __global__ void kp_empty() {}

// Fills with floats in [-1, 1).
extern "C" __global__ void kp_random(float* p, u64 n) {
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < n; i += (u64)gridDim.x * blockDim.x)
    p[i] = static_cast<float>(mix(i) >> 40) * (2.0f / 16777216.0f) - 1.0f;
}

extern "C" __global__ void kp_copy(const float4* from, float4* to, u64 n) {
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < n; i += (u64)gridDim.x * blockDim.x)
    to[i] = from[i];
}

// Every block reads the whole buffer `rounds` times past L1.
extern "C" __global__ void kp_read_l2(const float4* p, u64 n, int rounds, float* out) {
  float sum = 0;
  for (int r = 0; r < rounds; ++r) {
    u64 start = (blockIdx.x * (n / gridDim.x) + r * 4099ull) % n;
    for (u64 k = threadIdx.x; k + 3 * blockDim.x < n; k += 4 * blockDim.x) {
#pragma unroll
      for (int u = 0; u < 4; ++u) {
        u64 i = start + k + u * blockDim.x;
        float4 v = __ldcg(p + (i >= n ? i - n : i));
        sum += v.x + v.y + v.z + v.w;
      }
    }
  }
  if (sum == 12345.678f) *out = sum;
}

template <class T>
__device__ __forceinline__ void fma_chain(T seed, int rounds, T* out) {
  T a[16];
#pragma unroll
  for (int i = 0; i < 16; ++i) a[i] = seed + static_cast<T>(i + threadIdx.x);
  for (int r = 0; r < rounds; ++r) {
#pragma unroll
    for (int u = 0; u < 8; ++u)
#pragma unroll
      for (int i = 0; i < 16; ++i) a[i] = a[i] * seed + seed;
  }
  T sum = 0;
#pragma unroll
  for (int i = 0; i < 16; ++i) sum += a[i];
  if (sum == static_cast<T>(12345.678)) *out = sum;
}
// 128 fused multiply-adds a round and thread.
extern "C" __global__ void kp_fma32(float seed, int rounds, float* out) {
  fma_chain<float>(seed, rounds, out);
}
extern "C" __global__ void kp_fma64(double seed, int rounds, double* out) {
  fma_chain<double>(seed, rounds, out);
}

__device__ __forceinline__ float random_float(unsigned i) {
  return static_cast<float>(mix(i) >> 40) * (2.0f / 16777216.0f) - 1.0f;
}
// 32 bits of operand data: one tf32 value, two bf16 or two f16 values in [-1, 1).
template <int kind>
__device__ __forceinline__ unsigned operand(unsigned i) {
  if (kind == 0) return __float_as_uint(random_float(i)) & 0xffffe000u;
  unsigned lo, hi;
  if (kind == 1) {
    lo = __float_as_uint(random_float(2 * i)) >> 16;
    hi = __float_as_uint(random_float(2 * i + 1)) >> 16;
  } else {
    unsigned short a, b;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(a) : "f"(random_float(2 * i)));
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(b) : "f"(random_float(2 * i + 1)));
    lo = a;
    hi = b;
  }
  return lo | hi << 16;
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// Hopper: wgmma of a 64x256 tile from 128-byte-swizzled shared memory; 4 a round and warpgroup, each of
// 32 bytes of K (16 bf16/f16 values, 8 tf32 values).
#define KP_WGMMA(instruction, tail)                                                              \
  asm volatile(                                                                                  \
      "{ .reg .pred p; setp.ne.b32 p, 1, 0;\n" instruction " {" KP_D "}, %128, %129, p, 1, 1" tail \
      ";\n}\n" KP_OPERANDS)
#define KP_D \
    "%0, %1, %2, %3, %4, %5, %6, %7, " \
    "%8, %9, %10, %11, %12, %13, %14, %15, " \
    "%16, %17, %18, %19, %20, %21, %22, %23, " \
    "%24, %25, %26, %27, %28, %29, %30, %31, " \
    "%32, %33, %34, %35, %36, %37, %38, %39, " \
    "%40, %41, %42, %43, %44, %45, %46, %47, " \
    "%48, %49, %50, %51, %52, %53, %54, %55, " \
    "%56, %57, %58, %59, %60, %61, %62, %63, " \
    "%64, %65, %66, %67, %68, %69, %70, %71, " \
    "%72, %73, %74, %75, %76, %77, %78, %79, " \
    "%80, %81, %82, %83, %84, %85, %86, %87, " \
    "%88, %89, %90, %91, %92, %93, %94, %95, " \
    "%96, %97, %98, %99, %100, %101, %102, %103, " \
    "%104, %105, %106, %107, %108, %109, %110, %111, " \
    "%112, %113, %114, %115, %116, %117, %118, %119, " \
    "%120, %121, %122, %123, %124, %125, %126, %127"
#define KP_OPERANDS \
  : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), \
"+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), \
"+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), \
"+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), \
"+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), \
"+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), \
"+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), \
"+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), \
"+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]), \
"+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), \
"+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), \
"+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]), \
"+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]), \
"+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111]), \
"+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]), \
"+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127]) \
  : "l"(a), "l"(b)

__device__ __forceinline__ u64 descriptor(const void* p) {
  u64 address = static_cast<unsigned>(__cvta_generic_to_shared(p));
  return ((address & 0x3ffff) >> 4) | 1ull << 16 | (1024ull >> 4) << 32 | 1ull << 62;
}

template <int kind>
__device__ __forceinline__ void tensor_chain(int rounds, float* out) {
  __shared__ __align__(1024) unsigned tiles[12288];  // A of two warpgroups, then B
  for (unsigned i = threadIdx.x; i < 12288; i += blockDim.x) tiles[i] = operand<kind>(i);
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  u64 a0 = descriptor(tiles + 2048 * (threadIdx.x / 128));
  u64 b0 = descriptor(tiles + 4096);
  float d[128];
#pragma unroll
  for (int i = 0; i < 128; ++i) d[i] = 0;
  for (int r = 0; r < rounds; ++r) {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      u64 a = a0 + 2 * k, b = b0 + 2 * k;
      if (kind == 0) KP_WGMMA("wgmma.mma_async.sync.aligned.m64n256k8.f32.tf32.tf32", "");
      if (kind == 1) KP_WGMMA("wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16", ", 0, 0");
      if (kind == 2) KP_WGMMA("wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16", ", 0, 0");
    }
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  }
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 128; ++i) sum += d[i];
  if (sum == 12345.678f) *out = sum;
}
#else
// Before Hopper (and after, where wgmma is gone): mma.sync from registers, 8 independent a round.
template <int kind>
__device__ __forceinline__ void tensor_chain(int rounds, float* out) {
  unsigned a[4], b[2];
  for (int i = 0; i < 4; ++i) a[i] = operand<kind>(threadIdx.x * 8 + i);
  for (int i = 0; i < 2; ++i) b[i] = operand<kind>(threadIdx.x * 8 + 4 + i);
  float d[8][4] = {};
  for (int r = 0; r < rounds; ++r) {
#pragma unroll
    for (int u = 0; u < 8; ++u) {
#define KP_MMA(shape, type, nb)                                                                   \
  asm volatile("mma.sync.aligned." shape ".row.col.f32." type "." type                            \
               ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"                       \
               : "+f"(d[u][0]), "+f"(d[u][1]), "+f"(d[u][2]), "+f"(d[u][3])                       \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
      if (kind == 0) KP_MMA("m16n8k8", "tf32", 2);
      if (kind == 1) KP_MMA("m16n8k16", "bf16", 2);
      if (kind == 2) KP_MMA("m16n8k16", "f16", 2);
    }
  }
  float sum = 0;
  for (int u = 0; u < 8; ++u)
    for (int i = 0; i < 4; ++i) sum += d[u][i];
  if (sum == 12345.678f) *out = sum;
}
#endif

extern "C" __global__ void __launch_bounds__(256) kp_tensor_tf32(int rounds, float* out) {
  tensor_chain<0>(rounds, out);
}
extern "C" __global__ void __launch_bounds__(256) kp_tensor_bf16(int rounds, float* out) {
  tensor_chain<1>(rounds, out);
}
extern "C" __global__ void __launch_bounds__(256) kp_tensor_fp16(int rounds, float* out) {
  tensor_chain<2>(rounds, out);
}
