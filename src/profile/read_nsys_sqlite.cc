// The SQLite export of Nsight Systems: every piece of work on the GPU and every CUDA call.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "base/text.h"
#include "profile/read.h"
#include "profile/sqlite_file.h"

namespace kp {

namespace {

constexpr double kMostSeconds = 120;
constexpr std::int64_t kMostEvents = 2'000'000;  // of a table; some 500 MB

// "cudaLaunchKernel_v7000" → "cudaLaunchKernel": nsys names the version of the call's interface.
std::string without_version(std::string name) {
  std::size_t at = name.rfind("_v");
  bool version = at != std::string::npos && at + 2 < name.size() &&
                 name.find_first_not_of("0123456789", at + 2) == std::string::npos;
  return version ? name.substr(0, at) : name;
}

int small(std::optional<std::int64_t> value) {
  return value && *value >= 0 && *value <= 2147483647 ? static_cast<int>(*value) : 0;
}

std::string copy_kind(std::int64_t kind) {
  static const std::map<std::int64_t, const char*> names = {
      {1, "Host-to-Device"},          {2, "Device-to-Host"},
      {8, "Device-to-Device"},        {9, "Host-to-Host"},
      {10, "Peer-to-Peer"},           {11, "Unified Host-to-Device"},
      {12, "Unified Device-to-Host"}, {13, "Unified Device-to-Device"}};
  auto it = names.find(kind);
  return it == names.end() ? fmt::format("copy of kind {}", kind) : it->second;
}

class TraceReader {
 public:
  explicit TraceReader(SqliteFile file, std::string name)
      : file_(std::move(file)), name_(std::move(name)) {}

  Result<Profile> read() {
    KP_TRY(each("StringIds", {"id", "value"}, "", [&](const SqliteRow& row) {
      if (auto id = row.integer(0)) strings_[*id] = row.text(1).value_or("");
    }));
    KP_TRY(calls("CUPTI_ACTIVITY_KIND_RUNTIME"));
    KP_TRY(calls("CUPTI_ACTIVITY_KIND_DRIVER"));
    KP_TRY(work("CUPTI_ACTIVITY_KIND_KERNEL", GpuWork::kernel));
    KP_TRY(work("CUPTI_ACTIVITY_KIND_MEMCPY", GpuWork::copy));
    KP_TRY(work("CUPTI_ACTIVITY_KIND_MEMSET", GpuWork::fill));
    KP_TRY(work("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", GpuWork::graph));
    if (timeline_.events.empty() && call_times_.empty())
      return fail(fmt::format("{}: an SQLite file without CUDA work of Nsight Systems", name_),
                  "record with: nsys profile --trace cuda PROGRAM, then export with: nsys export "
                  "--type sqlite FILE.nsys-rep");
    KP_TRY(device());
    timeline_.calls = sums_of(call_times_);
    summarize(timeline_);
    if (refused_ > 0)
      profile_.notes.push_back(
          fmt::format("{}: {} rows without a whole start and end were left out", name_, refused_));
    profile_.timeline = std::move(timeline_);
    add_kernels_of_timeline(profile_, name_);
    return std::move(profile_);
  }

 private:
  using CallKey = std::tuple<std::int64_t, std::int64_t>;  // process, correlation
  struct Call {
    std::int64_t start_ns = 0, duration_ns = 0;
  };

  // A table that is not there has no rows: nsys makes only those that it needs.
  Status each(const std::string& table, const std::vector<std::string>& columns,
              const std::string& order, const std::function<void(const SqliteRow&)>& row) {
    if (!file_.has_table(table)) return {};
    std::int64_t rows = 0;
    std::string tail = order + fmt::format(" LIMIT {}", kMostEvents);
    KP_TRY(file_.read(table, columns, tail, [&](const SqliteRow& r) {
      ++rows;
      row(r);
    }));
    if (rows == kMostEvents)
      profile_.notes.push_back(
          fmt::format("{}: only the first {} rows of {} were read", name_, kMostEvents, table));
    return {};
  }

  // Start and duration; false, and counted, when they are no times.
  bool times(const SqliteRow& row, std::int64_t& start, std::int64_t& duration) {
    auto from = row.integer(0), to = row.integer(1);
    if (!from || !to || !is_time(*from) || !is_time(*to) || *to < *from) {
      ++refused_;
      return false;
    }
    start = *from;
    duration = *to - *from;
    return true;
  }

  // A process is its threads' number without the lowest 24 bits.
  static std::int64_t process(std::optional<std::int64_t> global_id) {
    return global_id.value_or(0) >> 24;
  }

  std::string string_of(std::optional<std::int64_t> id) const {
    auto it = id ? strings_.find(*id) : strings_.end();
    return it == strings_.end() ? "" : it->second;
  }

  Status calls(const std::string& table) {
    return each(table, {"start", "end", "nameId", "correlationId", "globalTid"}, "ORDER BY start",
                [&](const SqliteRow& row) {
                  Call call;
                  if (!times(row, call.start_ns, call.duration_ns)) return;
                  std::string name = without_version(string_of(row.integer(2)));
                  if (name.empty()) name = "(unnamed call)";
                  call_times_.push_back({std::move(name), call.duration_ns});
                  if (auto id = row.integer(3)) calls_[{process(row.integer(4)), *id}] = call;
                });
  }

  Status work(const std::string& table, GpuWork kind) {
    return each(table,
                {"start", "end", "deviceId", "streamId", "correlationId", "globalPid",
                 "graphNodeId", "demangledName", "shortName", "registersPerThread", "gridX",
                 "gridY", "gridZ", "blockX", "blockY", "blockZ", "bytes", "copyKind", "graphId"},
                "ORDER BY start", [&](const SqliteRow& row) { event(row, kind); });
  }

  void event(const SqliteRow& row, GpuWork kind) {
    GpuEvent e;
    e.work = kind;
    if (!times(row, e.start_ns, e.duration_ns)) return;
    e.device = small(row.integer(2));
    e.stream = small(row.integer(3));
    if (auto id = row.integer(4)) {
      e.correlation = std::max<std::int64_t>(*id, -1);
      auto call = calls_.find({process(row.integer(5)), *id});
      if (call != calls_.end()) {
        e.call_start_ns = call->second.start_ns;
        e.call_duration_ns = call->second.duration_ns;
      }
    }
    e.graph_node = row.integer(6).value_or(0);
    if (kind == GpuWork::kernel) {
      e.name = string_of(row.integer(7));
      if (e.name.empty()) e.name = string_of(row.integer(8));
      if (e.name.empty()) e.name = "(unnamed kernel)";
      e.registers = small(row.integer(9));
      for (int i = 0; i < 3; ++i) {
        e.grid[static_cast<std::size_t>(i)] =
            static_cast<std::uint32_t>(small(row.integer(10 + i)));
        e.block[static_cast<std::size_t>(i)] =
            static_cast<std::uint32_t>(small(row.integer(13 + i)));
      }
    } else if (kind == GpuWork::graph) {
      e.name = fmt::format("CUDA graph {}", row.integer(18).value_or(0));
    } else {
      e.name = kind == GpuWork::copy ? copy_kind(row.integer(17).value_or(0)) : "memset";
      e.bytes = std::max(0.0, static_cast<double>(row.integer(16).value_or(0)));
    }
    timeline_.events.push_back(std::move(e));
  }

  // The GPU that the first work ran on.
  Status device() {
    int wanted = timeline_.events.empty() ? 0 : timeline_.events.front().device;
    return each("TARGET_INFO_GPU",
                {"id", "name", "computeMajor", "computeMinor", "smCount", "l2CacheSize",
                 "totalMemory", "clockRate", "maxWarpsPerSm", "maxBlocksPerSm", "maxRegistersPerSm",
                 "maxShmemPerSm", "maxShmemPerBlockOptin"},
                "", [&](const SqliteRow& row) {
                  if (profile_.device || row.integer(0) != std::optional<std::int64_t>(wanted))
                    return;
                  DeviceInfo d;
                  d.name = row.text(1).value_or("");
                  d.cc_major = small(row.integer(2));
                  d.cc_minor = small(row.integer(3));
                  d.sms = small(row.integer(4));
                  d.l2_bytes = std::max<std::int64_t>(0, row.integer(5).value_or(0));
                  d.memory_bytes = std::max<std::int64_t>(0, row.integer(6).value_or(0));
                  d.clock_khz = std::max<std::int64_t>(0, row.integer(7).value_or(0) / 1000);
                  d.max_threads_per_sm = small(row.integer(8)) % 65536 * 32;
                  d.max_blocks_per_sm = small(row.integer(9));
                  d.registers_per_sm = small(row.integer(10));
                  d.smem_per_sm = small(row.integer(11));
                  d.smem_per_block_optin = small(row.integer(12));
                  if (d.cc_major > 0 && d.sms > 0) profile_.device = std::move(d);
                });
  }

  SqliteFile file_;
  std::string name_;
  std::unordered_map<std::int64_t, std::string> strings_;
  std::map<CallKey, Call> calls_;
  std::vector<NamedTime> call_times_;
  Timeline timeline_;
  Profile profile_;
  int refused_ = 0;
};

}  // namespace

Result<Profile> read_nsys_sqlite(const fs::path& path, std::string_view name) {
  KP_ASSIGN(SqliteFile file, SqliteFile::open(path, kMostSeconds));
  return TraceReader(std::move(file), std::string(name)).read();
}

}  // namespace kp
