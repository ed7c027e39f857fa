// The tables of `nsys stats --format csv`: sums and traces of the GPU's work and of CUDA calls.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "base/text.h"
#include "profile/csv.h"
#include "profile/ncu_cells.h"
#include "profile/nsys_table.h"
#include "profile/read.h"

namespace kp {

namespace {

// A host call of the API trace, for the work that it made.
struct Call {
  std::int64_t start_ns = 0, duration_ns = 0;
};

class TablesReader {
 public:
  TablesReader(std::string_view text, std::string_view name)
      : text_(text), name_(name), style_(nsys_style(text)) {}

  // nullopt: no table of Nsight Systems in the text.
  std::optional<Profile> read() {
    CsvReader reader(text_);
    bool found = false;
    while (auto record = reader.next()) {
      if (auto table = NsysTable::of(*record)) {
        table_ = std::move(*table);
        found = true;
      } else if (record->plain || record->fields.size() == 1) {
        // Blank lines and progress end a table.
        if (table_.kind != NsysTable::Kind::none) end_table(*record);
      } else if (table_.kind != NsysTable::Kind::none) {
        row(*record);
      }
    }
    if (!found) return std::nullopt;
    return finish();
  }

 private:
  void end_table(const CsvRecord& record) {
    if (starts_with(record.fields[0], "\"") || (record.cut && !trim(record.fields[0]).empty()))
      cut_row(record);
    table_ = {};
  }

  void cut_row(const CsvRecord& record) {
    profile_.notes.push_back(
        fmt::format("{}:{}: the row is cut short and was left out", name_, record.line));
  }

  void row(const CsvRecord& record) {
    if (record.fields.size() != table_.columns() || record.cut) return cut_row(record);
    NsysRow row(table_, record, style_, refusals_);
    switch (table_.kind) {
      case NsysTable::Kind::kernel_sum:
        return add_sum(row, timeline_.kernels);
      case NsysTable::Kind::transfer_sum:
        return add_sum(row, timeline_.transfers);
      case NsysTable::Kind::call_sum:
        return add_call_sum(row);
      case NsysTable::Kind::gpu_trace:
        return add_event(row);
      case NsysTable::Kind::call_trace:
        return add_call(row);
      default:
        return;
    }
  }

  void add_sum(const NsysRow& row, std::vector<TimeSum>& sums) {
    TimeSum sum;
    sum.name = row.name();
    auto count = row.integer(table_.count_column());
    auto total = row.us("Total Time");
    if (!count || !total) return;
    sum.count = *count;
    sum.total_us = *total;
    for (auto [column, out] :
         {std::pair("Med", &sum.median_us), {"Min", &sum.min_us}, {"Max", &sum.max_us}}) {
      if (auto value = row.us(column)) *out = *value;
    }
    // The same table twice, or two tables of the same work (cuda_gpu_kern_gb_sum): the first
    // stands.
    bool known =
        std::any_of(sums.begin(), sums.end(), [&](const TimeSum& s) { return s.name == sum.name; });
    if (!known) sums.push_back(std::move(sum));
  }

  void add_call_sum(const NsysRow& row) {
    if (is_cuda_call(row.name())) add_sum(row, timeline_.calls);  // osrt_sum has the same columns
  }

  void add_call(const NsysRow& row) {
    auto start = row.ns("Start"), duration = row.ns("Duration");
    if (!start || !duration || !is_cuda_call(row.name())) return;
    auto id = row.integer("CorrID");
    if (!seen_.insert(fmt::format("c{}/{}/{}", *start, *duration, row.name())).second) return;
    call_times_.push_back({row.name(), *duration});
    if (id) calls_[*id] = {*start, *duration};
  }

  void add_event(const NsysRow& row) {
    auto start = row.ns("Start"), duration = row.ns("Duration");
    if (!start || !duration) return;
    GpuEvent e;
    e.name = row.name();
    e.start_ns = *start;
    e.duration_ns = *duration;
    e.correlation = row.integer("CorrId").value_or(-1);
    e.stream = row.small("Strm");
    e.device = row.device();
    static const char* const kGrid[] = {"GrdX", "GrdY", "GrdZ"};
    static const char* const kBlock[] = {"BlkX", "BlkY", "BlkZ"};
    if (row.has("GrdX")) {
      for (std::size_t i = 0; i < 3; ++i) {
        e.grid[i] = static_cast<std::uint32_t>(row.small(kGrid[i]));
        e.block[i] = static_cast<std::uint32_t>(row.small(kBlock[i]));
      }
      e.registers = row.small("Reg/Trd");
    } else {
      e.work = contains(e.name, "memset") ? GpuWork::fill : GpuWork::copy;
      if (contains(e.name, "["))
        e.name = std::string(trim(replace_all(
            replace_all(replace_all(e.name, "[CUDA memcpy ", ""), "[CUDA ", ""), "]", "")));
      bytes_were_left_out_ = bytes_were_left_out_ || row.has("Bytes");
    }
    std::string key = fmt::format("g{}/{}/{}/{}/{}", e.start_ns, e.duration_ns, e.correlation,
                                  e.device, e.stream);
    if (seen_.insert(std::move(key)).second) timeline_.events.push_back(std::move(e));
  }

  Profile finish() {
    for (GpuEvent& e : timeline_.events) {
      auto call = calls_.find(e.correlation);
      if (call == calls_.end()) continue;
      e.call_start_ns = call->second.start_ns;
      e.call_duration_ns = call->second.duration_ns;
    }
    if (!call_times_.empty()) timeline_.calls = sums_of(call_times_);
    summarize(timeline_);
    if (bytes_were_left_out_)
      profile_.notes.push_back(fmt::format(
          "{}: the sizes of copies were left out: the table rounds them, and does not say whether "
          "its MB is 10^6 or 2^20 bytes; the SQLite export has them whole",
          name_));
    for (std::string& note : refusals_.notes(name_)) profile_.notes.push_back(std::move(note));
    profile_.timeline = std::move(timeline_);
    return std::move(profile_);
  }

  std::string_view text_;
  std::string name_;
  NumberStyle style_;
  NsysTable table_;
  Timeline timeline_;
  std::map<std::int64_t, Call> calls_;  // by correlation
  std::vector<NamedTime> call_times_;
  std::set<std::string> seen_;  // rows that stand in several tables of one text
  bool bytes_were_left_out_ = false;
  Refusals refusals_;
  Profile profile_;
};

}  // namespace

bool is_nsys_csv(std::string_view text) {
  CsvReader reader(text.substr(0, std::min<std::size_t>(text.size(), 1 << 20)));
  while (auto record = reader.next()) {
    if (NsysTable::of(*record)) return true;
  }
  return false;
}

Result<Profile> read_nsys_csv(std::string_view text, std::string_view name) {
  constexpr const char* kHint =
      "make one with: nsys stats --format csv --report cuda_gpu_trace,cuda_api_sum FILE.nsys-rep";
  auto profile = TablesReader(without_bom(text), name).read();
  if (!profile) return fail(fmt::format("{}: no table of Nsight Systems", name), kHint);
  const Timeline& t = *profile->timeline;
  if (t.events.empty() && t.kernels.empty() && t.transfers.empty() && t.calls.empty())
    return fail(fmt::format("{}: tables of Nsight Systems without a whole row of CUDA work{}", name,
                            profile->notes.empty() ? "" : ": " + profile->notes.front()),
                kHint);
  add_kernels_of_timeline(*profile, name);
  return std::move(*profile);
}

}  // namespace kp
