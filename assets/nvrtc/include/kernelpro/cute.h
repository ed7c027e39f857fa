// Put before every candidate that includes CuTe or CUTLASS, as one precompiled header.
#pragma once
#include <cute/tensor.hpp>
#include <cutlass/arch/barrier.h>
