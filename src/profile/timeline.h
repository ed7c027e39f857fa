#pragma once
// Timeline: what the GPU and the host did when, as a trace (Nsight Systems) tells it.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "device/info.h"
#include "task/task.h"

namespace kp {

enum class GpuWork {
  kernel,
  copy,
  fill,   // memset
  graph,  // a whole CUDA graph, where the trace does not look into it
};
std::string_view name_of(GpuWork work);

// One piece of work on the GPU. Times are on the trace's clock.
struct GpuEvent {
  GpuWork work = GpuWork::kernel;
  std::string name;               // kernel's signature; of copies: "Host-to-Device"
  std::int64_t start_ns = 0;      // from the start of the trace
  std::int64_t duration_ns = 0;   // on the GPU
  int device = 0, stream = 0;     // as numbered by the driver
  std::int64_t correlation = -1;  // of the host's call; -1 unknown
  std::int64_t graph_node = 0;    // 0: not part of a CUDA graph, or unknown
  double bytes = 0;               // of copies and fills; 0 unknown
  int registers = 0;              // a thread; 0 unknown
  Dim3 grid{0, 0, 0}, block{0, 0, 0};
  std::int64_t call_start_ns = -1;    // of the host's call that made it; -1 unknown
  std::int64_t call_duration_ns = 0;  // of that call
};

// Times of all work, or all host calls, of one name.
struct TimeSum {
  std::string name;
  std::int64_t count = 0;
  double total_us = 0, median_us = 0, min_us = 0, max_us = 0;
};

struct Timeline {
  std::vector<GpuEvent> events;    // by start; empty when only sums were given
  std::vector<TimeSum> kernels;    // by name, most time first
  std::vector<TimeSum> transfers;  // copies, fills and whole graphs
  std::vector<TimeSum> calls;      // CUDA calls of the host: "cudaLaunchKernel"
  // From the events, 0 without them. Work of several streams that overlaps is busy once; each
  // device counts for itself, and the figures are sums over the devices.
  double span_us = 0;  // from the start of the first work to the end of the last
  double busy_us = 0;  // some work was running
  double gap_us = 0;   // span - busy
  double largest_gap_us = 0;
  std::int64_t gaps = 0;         // how often nothing ran between two pieces of work
  std::int64_t graph_nodes = 0;  // events that a CUDA graph launched
  std::int64_t left_out = 0;     // events that are in the figures, but not kept in `events`
};

// Times are nanoseconds in 0 … 2^60 (36 years): sums of two do not overflow. Readers refuse others.
bool is_time(std::int64_t ns);

// Orders the events and makes what follows from them: sums, where there are events of that work,
// and gaps. Keeps the first `most` events.
void summarize(Timeline& timeline, std::size_t most = 20000);

// Sums over equal names: a call's or event's durations, most time first.
struct NamedTime {
  std::string name;
  std::int64_t ns = 0;
};
std::vector<TimeSum> sums_of(const std::vector<NamedTime>& times);

Json to_json(const Timeline& timeline);
Result<Timeline> timeline_from_json(const Json& json);

}  // namespace kp
