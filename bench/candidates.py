"""Simple, correct CUDA kernels for 20 tasks of KernelBench's level 1, each in several variants.

Written for measuring how fast candidates are judged; none is meant to be the fastest. A variant
differs from its siblings in block size, unrolling or access width, so each has its own source and
its own cubin. `candidates(number, count)` gives them, `plan_file` writes one as a candidate of
kernelpro and `model_new` as a KernelBench file that builds the same kernels by load_inline.
"""
import dataclasses
import itertools
import json


@dataclasses.dataclass
class Candidate:
    name: str
    source: str             # device code
    steps: list             # {"kernel", "grid", "block", "args"} or {"memset", "value"}
    inputs: dict            # forward()'s tensors: name -> shape
    output: tuple           # shape
    buffers: dict = dataclasses.field(default_factory=dict)     # name -> (dtype, elements)
    parameters: dict = dataclasses.field(default_factory=dict)  # name -> expression in ModelNew
    init: str = ""          # statements of ModelNew.__init__(self, *args)


# ---------------------------------------------------------------------- templates

ELEMENTWISE = """
constexpr int kThreads = %(block)d, kUnroll = %(unroll)d;
__device__ __forceinline__ float f(float v) { %(body)s }

extern "C" __global__ void __launch_bounds__(kThreads)
    elementwise(const float* __restrict__ x, float* __restrict__ out, long long n) {
  long long first = blockIdx.x * (1LL * kThreads * kUnroll) + threadIdx.x;
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    long long i = first + u * kThreads;
    if (i < n) out[i] = f(x[i]);
  }
}
"""

ELEMENTWISE4 = """
constexpr int kThreads = %(block)d, kUnroll = %(unroll)d;
__device__ __forceinline__ float f(float v) { %(body)s }

extern "C" __global__ void __launch_bounds__(kThreads)
    elementwise(const float4* __restrict__ x, float4* __restrict__ out, long long n) {
  long long first = blockIdx.x * (1LL * kThreads * kUnroll) + threadIdx.x;
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    long long i = first + u * kThreads;
    if (i < n / 4) {
      float4 v = x[i];
      out[i] = make_float4(f(v.x), f(v.y), f(v.z), f(v.w));
    }
  }
}
"""


def elementwise(number, body, shape, count):
    n = 1
    for extent in shape:
        n *= extent
    out = []
    for wide, block, unroll in itertools.product((False, True), (128, 256, 512), (1, 2, 4)):
        per_block = block * unroll * (4 if wide else 1)
        source = (ELEMENTWISE4 if wide else ELEMENTWISE) % {"block": block, "unroll": unroll, "body": body}
        steps = [{"kernel": "elementwise", "grid": [-(-n // per_block)], "block": [block],
                  "args": ["x", "out", f"i64:{n}"]}]
        out.append(Candidate(f"{number}_{'x4' if wide else 'x1'}_{block}_{unroll}", source, steps, {"x": shape}, shape))
    return spread(out, count)


SOFTMAX = """
constexpr int kThreads = %(block)d, kUnroll = %(unroll)d;

__device__ float block_reduce(float v, bool maximum) {
  __shared__ float partial[kThreads];
  partial[threadIdx.x] = v;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      float p = partial[threadIdx.x], q = partial[threadIdx.x + half];
      partial[threadIdx.x] = maximum ? fmaxf(p, q) : p + q;
    }
    __syncthreads();
  }
  float result = partial[0];
  __syncthreads();
  return result;
}

extern "C" __global__ void __launch_bounds__(kThreads)
    softmax(const float* __restrict__ x, float* __restrict__ out, int n) {
  const float* row = x + blockIdx.x * (long long)n;
  float* target = out + blockIdx.x * (long long)n;
  float largest = row[0];
#pragma unroll kUnroll
  for (int i = threadIdx.x; i < n; i += kThreads) largest = fmaxf(largest, row[i]);
  largest = block_reduce(largest, true);
  float sum = 0;
#pragma unroll kUnroll
  for (int i = threadIdx.x; i < n; i += kThreads) sum += expf(row[i] - largest);
  float scale = 1.0f / block_reduce(sum, false);
#pragma unroll kUnroll
  for (int i = threadIdx.x; i < n; i += kThreads) target[i] = expf(row[i] - largest) * scale;
}
"""


def softmax(number, rows, n, count):
    out = []
    for block, unroll in itertools.product((256, 512, 1024), (1, 4)):
        steps = [{"kernel": "softmax", "grid": [rows], "block": [block], "args": ["x", "out", f"i32:{n}"]}]
        out.append(Candidate(f"{number}_{block}_{unroll}", SOFTMAX % {"block": block, "unroll": unroll},
                             steps, {"x": (rows, n)}, (rows, n)))
    return spread(out, count)


# Reduces the middle dimension of [outer, n, inner]: a thread a column, several sums in flight.
MIDDLE = """
constexpr int kThreads = %(block)d, kChains = %(chains)d;
__device__ __forceinline__ float join(float p, float q) { %(join)s }

extern "C" __global__ void __launch_bounds__(kThreads)
    reduce_middle(const float* __restrict__ x, float* __restrict__ out, int n, int inner) {
  int column = blockIdx.x * kThreads + threadIdx.x;
  if (column >= inner) return;
  const float* p = x + blockIdx.y * (long long)n * inner + column;
  float part[kChains];
#pragma unroll
  for (int c = 0; c < kChains; ++c) part[c] = p[(long long)c * inner];
  for (int i = kChains; i < n; i += kChains) {
#pragma unroll
    for (int c = 0; c < kChains; ++c) part[c] = join(part[c], p[(long long)(i + c) * inner]);
  }
#pragma unroll
  for (int half = kChains / 2; half > 0; half /= 2) {
#pragma unroll
    for (int c = 0; c < half; ++c) part[c] = join(part[c], part[c + half]);
  }
  out[blockIdx.y * (long long)inner + column] = part[0] * %(factor)s;
}
"""


def middle(number, join, factor, outer, n, inner, shape, count):
    out = []
    for block, chains in itertools.product((64, 128, 256), (16, 32)):
        source = MIDDLE % {"block": block, "chains": chains, "join": join, "factor": factor}
        steps = [{"kernel": "reduce_middle", "grid": [-(-inner // block), outer], "block": [block],
                  "args": ["x", "out", f"i32:{n}", f"i32:{inner}"]}]
        out.append(Candidate(f"{number}_{block}_{chains}", source, steps, {"x": (outer, n, inner)}, shape))
    return spread(out, count)


RMS_NORM = """
constexpr int kThreads = %(block)d;

extern "C" __global__ void __launch_bounds__(kThreads)
    rms_norm(const float* __restrict__ x, float* __restrict__ out, int features, int inner) {
  int column = blockIdx.x * kThreads + threadIdx.x;
  if (column >= inner) return;
  long long base = blockIdx.y * (long long)features * inner + column;
  float sum = 0;
#pragma unroll %(unroll)d
  for (int i = 0; i < features; ++i) {
    float v = x[base + (long long)i * inner];
    sum += v * v;
  }
  float rms = sqrtf(sum / features + 1e-5f);
#pragma unroll %(unroll)d
  for (int i = 0; i < features; ++i) out[base + (long long)i * inner] = x[base + (long long)i * inner] / rms;
}
"""


def rms_norm(number, count):
    out = []
    for block, unroll in itertools.product((128, 256, 512), (4, 8)):
        steps = [{"kernel": "rms_norm", "grid": [-(-262144 // block), 112], "block": [block],
                  "args": ["x", "out", "i32:64", "i32:262144"]}]
        out.append(Candidate(f"{number}_{block}_{unroll}", RMS_NORM % {"block": block, "unroll": unroll}, steps,
                             {"x": (112, 64, 512, 512)}, (112, 64, 512, 512)))
    return spread(out, count)


# Sum and sum of squares of rows of n, each by several blocks; then a pass that uses them.
NORM = """
constexpr int kThreads = %(block)d;

__device__ double block_sum(double v) {
  __shared__ double partial[kThreads];
  partial[threadIdx.x] = v;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  double result = partial[0];
  __syncthreads();
  return result;
}

extern "C" __global__ void __launch_bounds__(kThreads)
    sums(const float* __restrict__ x, double* __restrict__ partial, long long n) {
  const float* row = x + blockIdx.y * n;
  double sum = 0, squares = 0;
  for (long long i = blockIdx.x * (long long)kThreads + threadIdx.x; i < n; i += (long long)gridDim.x * kThreads) {
    float v = row[i];
    sum += v;
    squares += (double)v * v;
  }
  sum = block_sum(sum);
  squares = block_sum(squares);
  if (threadIdx.x == 0) {
    partial[(blockIdx.y * gridDim.x + blockIdx.x) * 2] = sum;
    partial[(blockIdx.y * gridDim.x + blockIdx.x) * 2 + 1] = squares;
  }
}

// row -> factor and shift of its elements
extern "C" __global__ void finish(const double* __restrict__ partial, float* __restrict__ use, int parts, double n) {
  double sum = 0, squares = 0;
  for (int i = threadIdx.x; i < parts; i += kThreads) {
    sum += partial[(blockIdx.x * parts + i) * 2];
    squares += partial[(blockIdx.x * parts + i) * 2 + 1];
  }
  sum = block_sum(sum);
  squares = block_sum(squares);
  if (threadIdx.x != 0) return;
  %(finish)s
}

extern "C" __global__ void __launch_bounds__(kThreads)
    apply(const float* __restrict__ x, const float* __restrict__ use, %(weights)s float* __restrict__ out, long long n) {
  float factor = use[blockIdx.y * 2], shift = use[blockIdx.y * 2 + 1];
  for (long long i = blockIdx.x * (long long)kThreads + threadIdx.x; i < n; i += (long long)gridDim.x * kThreads) {
    float v = x[blockIdx.y * n + i] * factor + shift;
    out[blockIdx.y * n + i] = %(value)s;
  }
}
"""
LAYER_FINISH = """double mean = sum / n, variance = squares / n - mean * mean;
  double scale = 1.0 / sqrt(variance + 1e-5);
  use[blockIdx.x * 2] = (float)scale;
  use[blockIdx.x * 2 + 1] = (float)(-mean * scale);"""
FROBENIUS_FINISH = """use[blockIdx.x * 2] = (float)(1.0 / sqrt(squares));
  use[blockIdx.x * 2 + 1] = 0.0f;"""


def norm(number, finish, rows, n, shape, weighted, count):
    out = []
    for block, parts in itertools.product((256, 512), (132, 264, 528)):
        parts = max(1, parts * 4 // rows) if rows > 1 else parts * 4
        source = NORM % {"block": block, "finish": finish,
                         "weights": "const float* __restrict__ w, const float* __restrict__ b," if weighted else "",
                         "value": "v * w[i] + b[i]" if weighted else "v"}
        extra = ["ln_weight", "ln_bias"] if weighted else []
        steps = [{"kernel": "sums", "grid": [parts, rows], "block": [block], "args": ["x", "partial", f"i64:{n}"]},
                 {"kernel": "finish", "grid": [rows], "block": [block],
                  "args": ["partial", "use", f"i32:{parts}", f"f64:{n}"]},
                 {"kernel": "apply", "grid": [parts, rows], "block": [block],
                  "args": ["x", "use", *extra, "out", f"i64:{n}"]}]
        out.append(Candidate(f"{number}_{block}_{parts}", source, steps, {"x": shape}, shape,
                             {"partial": ("f64", parts * rows * 2), "use": ("f32", rows * 2)},
                             {"ln_weight": "self.ln.weight", "ln_bias": "self.ln.bias"} if weighted else {},
                             "self.ln = nn.LayerNorm(normalized_shape=args[0])" if weighted else ""))
    return spread(out, count)


MAX_POOL = """
constexpr int kThreads = %(block)d;

// 4 x 4 windows with stride 1 and a border of 1, of [planes, 512, 512].
extern "C" __global__ void __launch_bounds__(kThreads)
    max_pool(const float* __restrict__ x, float* __restrict__ out) {
  constexpr int kIn = 512, kOut = 511;
  int column = blockIdx.x * kThreads + threadIdx.x;
  if (column >= kOut) return;
  const float* plane = x + blockIdx.z * (long long)(kIn * kIn);
#pragma unroll
  for (int r = 0; r < %(rows)d; ++r) {
    int row = blockIdx.y * %(rows)d + r;
    if (row >= kOut) return;
    float largest = -INFINITY_;
    for (int i = row - 1; i <= row + 2; ++i) {
      for (int j = column - 1; j <= column + 2; ++j)
        if (i >= 0 && i < kIn && j >= 0 && j < kIn) largest = fmaxf(largest, plane[i * kIn + j]);
    }
    out[blockIdx.z * (long long)(kOut * kOut) + row * kOut + column] = largest;
  }
}
""".replace("-INFINITY_", "-3.402823466e38f")


def max_pool(number, count):
    out = []
    for block, rows in itertools.product((128, 256, 512), (1, 2, 4)):
        steps = [{"kernel": "max_pool", "grid": [-(-511 // block), -(-511 // rows), 2048], "block": [block],
                  "args": ["x", "out"]}]
        out.append(Candidate(f"{number}_{block}_{rows}", MAX_POOL % {"block": block, "rows": rows}, steps, {"x": (32, 64, 512, 512)},
                             (32, 64, 511, 511)))
    return spread(out, count)


MATMUL = """
constexpr int kTile = %(tile)d, kDepth = %(depth)d, kEach = %(each)d, kSide = kTile / kEach;

// A block makes kTile x kTile of the output, a thread kEach x kEach. Sizes are multiples of the tile.
extern "C" __global__ void __launch_bounds__(kSide* kSide)
    matmul(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ out, int n, int k) {
  __shared__ float tile_a[kDepth][kTile + 1], tile_b[kDepth][kTile];
  int t = threadIdx.x, x = t %% kSide, y = t / kSide;
  float sum[kEach][kEach] = {};
  for (int from = 0; from < k; from += kDepth) {
    for (int i = t; i < kTile * kDepth; i += kSide * kSide) {
      tile_a[i %% kDepth][i / kDepth] = a[(blockIdx.y * kTile + i / kDepth) * (long long)k + from + i %% kDepth];
      tile_b[i / kTile][i %% kTile] = b[(from + i / kTile) * (long long)n + blockIdx.x * kTile + i %% kTile];
    }
    __syncthreads();
#pragma unroll
    for (int d = 0; d < kDepth; ++d) {
      float p[kEach], q[kEach];
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
        p[i] = tile_a[d][y + i * kSide];
        q[i] = tile_b[d][x + i * kSide];
      }
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
#pragma unroll
        for (int j = 0; j < kEach; ++j) sum[i][j] += p[i] * q[j];
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < kEach; ++i)
    for (int j = 0; j < kEach; ++j)
      out[(blockIdx.y * kTile + y + i * kSide) * (long long)n + blockIdx.x * kTile + x + j * kSide] = sum[i][j];
}
"""


def matmul(number, n, count):
    out = []
    for tile, depth, each in ((64, 16, 4), (64, 32, 4), (128, 8, 8), (128, 16, 8), (64, 8, 4), (128, 32, 8)):
        side = tile // each
        steps = [{"kernel": "matmul", "grid": [n // tile, n // tile], "block": [side * side],
                  "args": ["A", "B", "out", f"i32:{n}", f"i32:{n}"]}]
        out.append(Candidate(f"{number}_{tile}_{depth}_{each}", MATMUL % {"tile": tile, "depth": depth, "each": each},
                             steps, {"A": (n, n), "B": (n, n)}, (n, n)))
    return spread(out, count)


MATVEC = """
constexpr int kThreads = %(block)d;

extern "C" __global__ void __launch_bounds__(kThreads)
    matvec(const float* __restrict__ a, const float* __restrict__ v, float* __restrict__ out, int k) {
  const float* row = a + blockIdx.x * (long long)k;
  double sum = 0;
#pragma unroll %(unroll)d
  for (int i = threadIdx.x; i < k; i += kThreads) sum += (double)row[i] * v[i];
  __shared__ double partial[kThreads];
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = (float)partial[0];
}
"""


def matvec(number, count):
    out = []
    for block, unroll in itertools.product((256, 512, 1024), (2, 4)):
        steps = [{"kernel": "matvec", "grid": [2048], "block": [block], "args": ["A", "B", "out", "i32:1048576"]}]
        out.append(Candidate(f"{number}_{block}_{unroll}", MATVEC % {"block": block, "unroll": unroll}, steps,
                             {"A": (2048, 1048576), "B": (1048576, 1)}, (2048, 1)))
    return spread(out, count)


DIAGONAL = """
constexpr int kThreads = %(block)d;

extern "C" __global__ void __launch_bounds__(kThreads)
    scale_rows(const float* __restrict__ d, const float* __restrict__ b, float* __restrict__ out, int n) {
  int column = (blockIdx.x * kThreads + threadIdx.x) * %(unroll)d;
  float factor = d[blockIdx.y];
  for (int i = column; i < column + %(unroll)d && i < n; ++i)
    out[blockIdx.y * (long long)n + i] = factor * b[blockIdx.y * (long long)n + i];
}
"""


def diagonal(number, n, count):
    out = []
    for block, unroll in itertools.product((128, 256, 512), (1, 2, 4)):
        steps = [{"kernel": "scale_rows", "grid": [-(-n // (block * unroll)), n], "block": [block],
                  "args": ["A", "B", "out", f"i32:{n}"]}]
        out.append(Candidate(f"{number}_{block}_{unroll}", DIAGONAL % {"block": block, "unroll": unroll}, steps,
                             {"A": (n,), "B": (n, n)}, (n, n)))
    return spread(out, count)


def spread(all_of_them, count):
    """`count` of them, over the whole list."""
    count = min(count, len(all_of_them))
    return [all_of_them[i * len(all_of_them) // count] for i in range(count)]


# ---------------------------------------------------------------------- tasks

BIG = (4096, 393216)
ACTIVATIONS = {
    19: ("return v < 0.0f ? 0.0f : v;", BIG),
    20: ("return v < 0.0f ? v * 0.01f : v;", BIG),
    21: ("return 1.0f / (1.0f + expf(-v));", BIG),
    25: ("return v / (1.0f + expf(-v));", BIG),
    26: ("return 0.5f * v * (1.0f + erff(v * 0.70710678118654752f));", BIG),
    30: ("return v / (1.0f + fabsf(v));", BIG),
    31: ("return v > 0.0f ? v : expm1f(v);", BIG),
    88: ("return 0.5f * v * (1.0f + tanhf(0.79788456080286536f * (v + 0.044715f * v * v * v)));", (8192, 8192)),
}
SUM, MAX, MIN = "return p + q;", "return fmaxf(p, q);", "return fminf(p, q);"
TASKS = [*ACTIVATIONS, 23, 36, 37, 40, 47, 48, 49, 53, 42, 1, 4, 12]


def candidates(number, count):
    """Up to `count` candidates of level1/`number`."""
    if number in ACTIVATIONS:
        return elementwise(number, *ACTIVATIONS[number], count)
    if number == 23:
        return softmax(23, *BIG, count)
    if number == 36:
        return rms_norm(36, count)
    if number == 37:
        shape = (112, 64, 512, 512)
        return norm(37, FROBENIUS_FINISH, 1, 112 * 64 * 512 * 512, shape, False, count)
    if number == 40:
        return norm(40, LAYER_FINISH, 16, 64 * 256 * 256, (16, 64, 256, 256), True, count)
    if number in (47, 48, 49, 53):
        join = {47: SUM, 48: SUM, 49: MAX, 53: MIN}[number]
        factor = "(1.0f / 4096)" if number == 48 else "1.0f"
        shape = (128, 1, 4095) if number == 47 else (128, 4095)
        return middle(number, join, factor, 128, 4096, 4095, shape, count)
    if number == 42:
        return max_pool(42, count)
    if number == 1:
        return matmul(1, 4096, count)
    if number == 4:
        return matvec(4, count)
    if number == 12:
        return diagonal(12, 4096, count)
    raise ValueError(f"no candidates are written for level1/{number}")


# ---------------------------------------------------------------------- forms

def plan_file(candidate):
    """The text of a candidate file of kernelpro."""
    plan = {}
    if candidate.buffers:
        plan["buffers"] = {name: {"dtype": dtype, "shape": [n]} for name, (dtype, n) in candidate.buffers.items()}
    plan["steps"] = candidate.steps
    return f"// {candidate.name}\n/* plan\n{json.dumps(plan)}\n*/{candidate.source}"


def c_value(arg):
    kind, value = arg.split(":")
    return {"i32": "(int)", "i64": "(long long)", "f64": "(double)", "f32": "(float)"}[kind] + value


def model_new(candidate):
    """The same kernels as a KernelBench file."""
    tensors = [*candidate.inputs, *candidate.parameters]
    types = {"f32": ("float", "torch::kFloat32"), "f64": ("double", "torch::kFloat64")}
    wide = "float4" in candidate.source
    body = [f"auto out = torch::empty({{{', '.join(map(str, candidate.output))}}}, {tensors[0]}.options());"]
    for name, (dtype, n) in candidate.buffers.items():
        body.append(f"auto {name} = torch::empty({{{n}}}, {tensors[0]}.options().dtype({types[dtype][1]}));")

    def argument(arg):
        if ":" in arg:
            return c_value(arg)
        base = types[candidate.buffers[arg][0]][0] if arg in candidate.buffers else "float"
        pointer = f"{arg}.data_ptr<{base}>()"
        return f"(float4*){pointer}" if wide else pointer

    for step in candidate.steps:
        dims = lambda extents: f"dim3({', '.join(map(str, extents))})"
        body.append(f"{step['kernel']}<<<{dims(step['grid'])}, {dims(step['block'])}>>>"
                    f"({', '.join(argument(a) for a in step['args'])});")
    body.append("return out;")
    signature = f"torch::Tensor run({', '.join(f'torch::Tensor {t}' for t in tensors)})"
    cuda = f"#include <torch/extension.h>\n{candidate.source}\n{signature} {{\n  " + "\n  ".join(body) + "\n}\n"
    call = ", ".join([*candidate.inputs, *(f"{e}.contiguous()" for e in candidate.parameters.values())])
    return f'''import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
{cuda}"""
module = load_inline(name="bench_{candidate.name}", cpp_sources="{signature};", cuda_sources=CUDA, functions=["run"])


class ModelNew(nn.Module):
    def __init__(self, *args):
        super().__init__()
        {candidate.init or "pass"}

    def forward(self, {", ".join(candidate.inputs)}):
        return module.run({call})
'''
