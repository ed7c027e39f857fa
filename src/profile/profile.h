#pragma once
// Profile: telemetry of a candidate's kernels in one vocabulary, whatever it was read from.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "build/build.h"
#include "device/info.h"
#include "profile/metrics.h"
#include "profile/sass.h"
#include "profile/timeline.h"
#include "task/task.h"

namespace kp {

struct Measured {
  double value = 0;     // in the metric's unit (metrics.h)
  std::string counter;  // where it comes from: "dram__throughput.avg.pct_of_peak_sustained_elapsed"
};

struct KernelProfile {
  std::string kernel;                  // function name, without parameters: "gemm_naive"
  std::string signature;               // as the source wrote it; may be empty
  Dim3 grid{0, 0, 0}, block{0, 0, 0};  // zeros when unknown
  std::map<Metric, Measured> metrics;
  std::optional<KernelResources> resources;  // from the build
  std::optional<SassSummary> sass;

  std::optional<double> get(Metric metric) const;
};

enum class BoundClass { memory, compute, latency };
std::string_view name_of(BoundClass bound);
Result<BoundClass> parse_bound(std::string_view name);

// The benchmarking agent's answer: what the task must cost at least, and what bounds it.
struct Roofline {
  BoundClass bound = BoundClass::latency;    // the one that turns tools on
  std::optional<BoundClass> by_theory;       // from Work and Ceilings; wins when they differ
  std::optional<BoundClass> by_measurement;  // from the counters of the dominant kernel
  double speed_of_light_ms = 0;              // 0 when unknown
  double memory_ms = 0, compute_ms = 0, launch_ms = 0;  // its parts
  std::string why;                                      // in words, with the numbers
};

struct Profile {
  std::optional<DeviceInfo> device;
  std::optional<Ceilings> ceilings;
  std::optional<Work> work;  // the task's
  Precision precision = Precision::strict;
  std::vector<KernelProfile> kernels;  // in launch order, one a launch that was profiled
  std::optional<Timeline> timeline;    // from a trace
  Roofline roofline;
  std::vector<std::string> sources;  // what was read: "a.csv: raw page of Nsight Compute"
  std::vector<std::string> notes;    // what could not be read, and why

  double total_us() const;                // sum of the kernels' durations
  const KernelProfile* dominant() const;  // longest kernel; null when none
};

Json to_json(const Profile& profile);
Result<Profile> profile_from_json(const Json& json);

}  // namespace kp
