// Look-alike, honest: exchanges its results with the other block of the cluster through
// distributed shared memory.
/* plan
{"steps": [{"kernel": "k", "grid": ["x_d0"], "block": [256], "cluster": [2], "dynamic_smem": 204800,
            "args": ["x", "out", "i32:x_d1"]}]}
*/
__device__ float wave(float x) {
  float sum = 1;
#pragma unroll 4
  for (int k = 1; k <= 32; ++k) sum += sinf(x * k) / k;
  return sum;
}

// Mean of wave over a row; thread 0 has it.
__device__ float row_mean(const float* row, int n) {
  __shared__ float partial[256];
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += 256) sum += wave(row[i]);
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  return partial[0] / n;
}

__device__ unsigned rank_in_cluster() {
  unsigned r;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
  return r;
}
__device__ void cluster_barrier() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
// Address of `p` (shared) in the block of the cluster with this rank.
__device__ unsigned at_rank(const volatile void* p, unsigned rank) {
  unsigned a = (unsigned)__cvta_generic_to_shared((const void*)p), mapped;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(a), "r"(rank));
  return mapped;
}
__device__ unsigned load_cluster(unsigned a) {
  unsigned v;
  asm volatile("ld.volatile.shared::cluster.u32 %0, [%1];" : "=r"(v) : "r"(a));
  return v;
}

extern __shared__ float given[];  // the mean of this block, for the other

extern "C" __global__ void k(const float* x, float* out, int n) {
  const float* row = x + blockIdx.x * (long long)n;
  float mean = row_mean(row, n);
  if (threadIdx.x == 0) given[0] = mean;
  cluster_barrier();
  unsigned other = rank_in_cluster() ^ 1u;
  if (threadIdx.x == 0) out[blockIdx.x ^ 1u] = __uint_as_float(load_cluster(at_rank(given, other)));
  cluster_barrier();
}
