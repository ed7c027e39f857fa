#pragma once
// Drives Nsight Compute and the disassembler for one candidate on a GPU.
#include "build/toolkit.h"
#include "profile/profile.h"

namespace kp {

struct CollectRequest {
  std::vector<Metric> metrics;  // the union of what the active tools need
  std::vector<std::string>
      command;  // runs every launch of the plan once (kernelpro worker --once F)
  double timeout_s = 120;
  std::vector<std::string> kernels;  // only these functions; empty: all
  int launch_skip = 0;               // of the launches that match, pass over so many
  int launch_count = 0;              // and profile so many; 0: all
};

// ncu's command line for the first counter of each metric that is not in `unknown`;
// empty when none is left.
std::vector<std::string> ncu_command(const std::string& ncu, const CollectRequest& request,
                                     const std::vector<std::string>& unknown);

// Runs ncu for exactly these metrics. What cannot be had (no ncu, no permission, busy counters,
// time) becomes a note that says what to do; the profile then has what is left.
Result<Profile> collect_ncu(const Toolkit& toolkit, const CollectRequest& request);

// SASS of every function in a cubin by nvdisasm or cuobjdump.
Result<std::vector<SassSummary>> disassemble(const Toolkit& toolkit, const fs::path& cubin);

// Adds resources and SASS to the kernels of a profile by function name; kernels that the profile
// lacks (no counters to be had) are added without metrics.
void attach(Profile& profile, const Build& build, const std::vector<SassSummary>& sass);

}  // namespace kp
