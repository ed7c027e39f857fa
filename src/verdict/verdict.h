#pragma once
// Verdict: what is known of a candidate after it was judged. A candidate's fault is an outcome
// here, never an Error.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/stats.h"
#include "build/build.h"

namespace kp {

enum class Outcome {
  correct,
  incorrect,   // an output is off, or an input was changed
  plan_error,  // the plan does not fit the task, the kernels or the device
  compile_error,
  crashed,    // illegal access, launch failure, trap
  timed_out,  // compile or kernel did not end
  out_of_memory,
  dishonest,  // an attempt on the measurement itself
};
std::string_view name_of(Outcome outcome);
Result<Outcome> parse_outcome(std::string_view name);

// How |out - truth| is spread over a leaf's elements (of a sample of them, when it is large).
struct Quantiles {
  double p50 = 0, p90 = 0, p99 = 0, max = 0;
};

// One output leaf against the fp64 truth, worst over the seeds.
struct LeafError {
  std::string tensor;
  bool ok = false;
  double max_abs = 0;        // max |out - truth|
  double rel_l2 = 0;         // ||out - truth|| / ||truth||
  double eager_max_abs = 0;  // the reference's own, at the task's precision
  double eager_rel_l2 = 0;
  double outside = 0;  // share of the elements outside the tolerance, 0 to 1
  std::vector<std::int64_t> worst_index;
  double expected = 0;
  double actual = 0;
  std::string reason;  // in words when not ok
  std::optional<Quantiles> quantiles;
};

struct Timing {
  double median_ms = 0;
  double mad_ms = 0;  // median absolute deviation
  Interval ci95_ms;   // bootstrap interval of the median
  int samples = 0;
  std::string mode;         // "stream", "graph", "wall" (host clock, launches included), "eager"
  std::string l2 = "cold";  // flushed with twice the L2 before every sample; or "warm"
};

// The device while a candidate was timed.
struct Conditions {
  double sm_mhz_min = 0, sm_mhz_max = 0;
  double memory_mhz = 0;
  double temperature_c = 0;           // highest
  double power_w = 0;                 // highest
  std::vector<std::string> throttle;  // reasons seen
  int redone = 0;                     // rounds thrown away, for the device was slowed down
};

// Energy of one call in back-to-back calls, from the device's own counter.
struct Energy {
  double joules = 0;  // a call
  Interval ci95;
  double idle_w = 0;        // the idle device's power just before
  double above_idle_j = 0;  // a call, without what the idle device would have drawn meanwhile
  double power_w = 0;
  int windows = 0;
};

struct Baseline {
  std::string name;  // "eager", "eager_tf32", "reference"
  Timing timing;
};

struct Verdict {
  Outcome outcome = Outcome::correct;
  std::string reason;  // one line; empty when correct
  std::string detail;  // diagnostics, the failing element, ... for people and models
  std::vector<LeafError> leaves;
  int seeds = 0;                    // how many seeds were passed
  std::string accuracy_class;       // "fp32-equivalent", "tf32", "bf16/fp16", "exact"; when correct
  std::optional<Timing> timing;     // the better of `timings`
  std::vector<Timing> timings;      // stream and graph
  std::vector<Baseline> baselines;  // the first was interleaved with the candidate
  std::optional<Interval> speedup_ci95;  // of speedup()
  std::optional<Conditions> conditions;
  std::optional<Energy> energy;  // when asked for
  bool deterministic = true;     // every timed run gave the same bits
  std::optional<Build> build;
  std::vector<std::pair<std::string, double>> stages;  // seconds, in order of execution

  bool correct() const { return outcome == Outcome::correct; }
  // Baseline's median over ours; nullopt without a timing or such a baseline.
  std::optional<double> speedup(std::string_view baseline) const;
  // Against the baseline that has the task's precision: "eager_tf32" for tf32, else "eager", or
  // "reference" for native tasks: the first baseline is always that one.
  std::optional<double> speedup() const;
};

// What several comparisons of one candidate add up to: the worst of each output, and the less exact
// of two classes ("" counts as none).
void keep_worst(std::vector<LeafError>& known, const std::vector<LeafError>& more);
void keep_less_exact(std::string& known, const std::string& found);
// Why an output does not pass, of the last that does not; empty when all do.
std::string failing_reason(const std::vector<LeafError>& leaves);

Json to_json(const Timing& timing);
Timing timing_from_json(const Json& json);
Json to_json(const Conditions& conditions);
Json to_json(const Energy& energy);
Json to_json(const LeafError& leaf);
LeafError leaf_error_from_json(const Json& json);
Json to_json(const Verdict& verdict);
Result<Verdict> verdict_from_json(const Json& json);

}  // namespace kp
