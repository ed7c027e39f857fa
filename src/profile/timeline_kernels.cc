// Launches of a trace as kernels of a Profile, for files that have no counters.
#include <fmt/format.h>

#include "profile/names.h"
#include "profile/read.h"

namespace kp {

namespace {

constexpr std::size_t kMostLaunches = 10000;

KernelProfile kernel_named(const std::string& signature, double us, std::string source) {
  KernelProfile kernel;
  kernel.signature = signature;
  kernel.kernel = function_name(signature);
  kernel.metrics[Metric::duration_us] = {us, std::move(source)};
  return kernel;
}

}  // namespace

void add_kernels_of_timeline(Profile& profile, std::string_view name) {
  KP_CHECK(profile.timeline.has_value());
  const Timeline& t = *profile.timeline;
  std::int64_t launches = 0;
  for (const TimeSum& sum : t.kernels) launches += sum.count;
  auto full = [&] { return profile.kernels.size() >= kMostLaunches; };
  bool traced = false;
  for (const GpuEvent& e : t.events) {
    if (e.work != GpuWork::kernel) continue;
    traced = true;
    if (full()) break;
    KernelProfile kernel =
        kernel_named(e.name, static_cast<double>(e.duration_ns) * 1e-3, "nsys: duration");
    kernel.grid = e.grid;
    kernel.block = e.block;
    if (e.registers > 0)
      kernel.metrics[Metric::registers_per_thread] = {static_cast<double>(e.registers),
                                                      "nsys: registers"};
    profile.kernels.push_back(std::move(kernel));
  }
  for (const TimeSum& sum : t.kernels) {
    if (traced || sum.count <= 0) continue;
    double mean = sum.total_us / static_cast<double>(sum.count);
    std::string source = fmt::format("nsys: mean of {} launches", sum.count);
    for (std::int64_t i = 0; i < sum.count && !full(); ++i)
      profile.kernels.push_back(kernel_named(sum.name, mean, source));
  }
  if (launches > static_cast<std::int64_t>(profile.kernels.size()))
    profile.notes.push_back(fmt::format("{}: {} launches; the first {} stand as kernels", name,
                                        launches, profile.kernels.size()));
}

}  // namespace kp
