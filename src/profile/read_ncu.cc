// ncu's raw and details pages.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/text.h"
#include "profile/csv.h"
#include "profile/names.h"
#include "profile/ncu_cells.h"
#include "profile/ncu_launch.h"
#include "profile/ncu_log.h"
#include "profile/read.h"

namespace kp {

namespace {

constexpr std::string_view kExport =
    "export again: ncu --import FILE.ncu-rep --csv --page raw > FILE.csv";

bool is_header(std::string_view line) {
  return (starts_with(line, "\"ID\",") || starts_with(line, "ID,")) &&
         contains(line, "Kernel Name");
}

std::optional<std::size_t> find_header(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t end = std::min(text.find('\n', at), text.size());
    if (is_header(text.substr(at, end - at))) return at;
    at = end + 1;
  }
  return std::nullopt;
}

struct Header {
  std::vector<std::string> names;
  std::vector<std::string> units;  // raw page; empty until the units row came
  std::map<std::string, std::size_t, std::less<>> columns;
  bool details = false;

  std::optional<std::size_t> column(std::string_view name) const {
    auto it = columns.find(name);
    return it == columns.end() ? std::nullopt : std::optional(it->second);
  }
  std::string_view get(const CsvRecord& record, std::string_view name) const {
    auto c = column(name);
    if (!c || *c >= record.fields.size()) return {};
    return record.fields[*c];
  }
};

Header header_of(const CsvRecord& record) {
  Header header;
  header.names = record.fields;
  for (std::size_t i = 0; i < record.fields.size(); ++i)
    header.columns.emplace(record.fields[i], i);
  header.details = header.column("Metric Name").has_value();
  return header;
}

bool is_header(const CsvRecord& record) {
  return !record.plain && record.fields.size() > 3 && record.fields[0] == "ID" &&
         std::find(record.fields.begin(), record.fields.end(), "Kernel Name") !=
             record.fields.end();
}

bool is_integer(std::string_view s) {
  return !s.empty() && std::all_of(s.begin(), s.end(), [](char c) { return c >= '0' && c <= '9'; });
}

KernelProfile kernel_of(const Header& header, const CsvRecord& record) {
  KernelProfile kernel;
  kernel.signature = std::string(header.get(record, "Kernel Name"));
  kernel.kernel = function_name(kernel.signature);
  kernel.grid = parse_dim3(header.get(record, "Grid Size"));
  kernel.block = parse_dim3(header.get(record, "Block Size"));
  return kernel;
}

// The device as the raw page of a full set describes it.
std::optional<DeviceInfo> device_of(const Header& header, const CsvRecord& record,
                                    NumberStyle style) {
  DeviceInfo d;
  d.name = std::string(header.get(record, "device__attribute_display_name"));
  if (d.name.empty()) return std::nullopt;
  auto number = [&](std::string_view name) -> double {
    ParsedNumber n =
        parse_number(header.get(record, fmt::format("device__attribute_{}", name)), style);
    return n.problem == NotANumber::none && n.value < 9e15 ? n.value : 0;
  };
  auto integer = [&](std::string_view name) {
    double value = number(name);
    return value < 2147483648.0 ? static_cast<int>(value) : 0;
  };
  auto big = [&](std::string_view name) { return static_cast<std::int64_t>(number(name)); };
  d.cc_major = integer("compute_capability_major");
  d.cc_minor = integer("compute_capability_minor");
  d.sms = integer("multiprocessor_count");
  d.max_threads_per_sm = integer("max_threads_per_multiprocessor");
  d.max_blocks_per_sm = integer("max_blocks_per_multiprocessor");
  d.registers_per_sm = integer("max_registers_per_multiprocessor");
  d.smem_per_sm = big("max_shared_memory_per_multiprocessor");
  d.smem_per_block_optin = big("max_shared_memory_per_block_optin");
  d.l2_bytes = big("l2_cache_size");
  d.memory_bytes = big("total_memory");
  d.clock_khz = big("clock_rate");
  if (d.cc_major == 0 || d.sms == 0) return std::nullopt;
  return d;
}

// Decimal commas anywhere among the values make the whole file suspect.
NumberStyle style_of(std::string_view text) {
  CsvReader reader(text);
  Header header;
  while (auto record = reader.next()) {
    if (is_header(*record)) {
      header = header_of(*record);
    } else if (header.details) {
      if (only_decimal_comma(header.get(*record, "Metric Value"))) return NumberStyle::comma;
    } else if (record->fields.size() == header.names.size()) {
      for (std::size_t i = 0; i < header.names.size(); ++i) {
        bool counter = contains(header.names[i], "__") && !starts_with(header.names[i], "device__");
        if (counter && only_decimal_comma(record->fields[i])) return NumberStyle::comma;
      }
    }
  }
  return NumberStyle::point;
}

class PageReader {
 public:
  PageReader(std::string_view text, std::string_view name)
      : text_(text), name_(name), style_(style_of(text)) {}

  Profile read() {
    CsvReader reader(text_);
    while (auto record = reader.next()) {
      if (is_header(*record)) {
        finish_details();
        header_ = header_of(*record);
      } else if (record->plain || !is_row(*record)) {
        pass_over(*record);
      } else if (header_.details) {
        details_row(*record);
      } else {
        raw_row(*record);
      }
    }
    finish_details();
    if (passed_over_ > 0)
      profile_.notes.push_back(fmt::format(
          "{}: passed over {} lines of other text after the header", name_, passed_over_));
    for (std::string& note : refusals_.notes(name_)) profile_.notes.push_back(std::move(note));
    return std::move(profile_);
  }

 private:
  bool is_row(const CsvRecord& record) const {
    std::string_view id = record.fields[0];
    if (id.empty()) return !header_.details && record.fields.size() == header_.names.size();
    return is_integer(id) && record.fields.size() > 4;
  }

  void pass_over(const CsvRecord& record) {
    const std::string& first = record.fields[0];
    if (starts_with(first, "==") || (record.fields.size() == 1 && trim(first).empty())) return;
    if (record.cut || starts_with(first, "\"") || is_integer(first)) {
      cut_row(record);
    } else {
      ++passed_over_;
    }
  }

  void cut_row(const CsvRecord& record) {
    profile_.notes.push_back(
        fmt::format("{}:{}: the row is cut short and was left out", name_, record.line));
  }

  void raw_row(const CsvRecord& record) {
    if (record.fields.size() != header_.names.size()) return cut_row(record);
    if (record.fields[0].empty()) {
      header_.units = record.fields;
      return;
    }
    NcuCells cells;
    std::size_t whole = record.fields.size() - (record.cut ? 1 : 0);
    if (record.cut)
      profile_.notes.push_back(fmt::format(
          "{}:{}: the text ends inside the row; its last value was left out", name_, record.line));
    for (std::size_t i = 0; i < whole; ++i) {
      if (!metric_of_counter(header_.names[i])) continue;
      cells[header_.names[i]].push_back(
          {header_.units.empty() ? "" : header_.units[i], record.fields[i]});
    }
    KernelProfile kernel = kernel_of(header_, record);
    fill_metrics(kernel, cells, style_, where(kernel, record.fields[0]), refusals_);
    if (!profile_.device) profile_.device = device_of(header_, record, style_);
    profile_.kernels.push_back(std::move(kernel));
  }

  void details_row(const CsvRecord& record) {
    std::size_t value = *header_.column("Metric Value");
    if (record.fields.size() < value + (record.cut ? 2 : 1)) return cut_row(record);
    std::string key = fmt::format("{}/{}", header_.get(record, "Process ID"), record.fields[0]);
    auto [at, is_new] = launch_of_.try_emplace(key, launches_.size());
    if (is_new) launches_.push_back({record.fields[0], kernel_of(header_, record), {}});
    std::string_view metric = header_.get(record, "Metric Name");
    if (!is_known_to_ncu(metric)) return;
    launches_[at->second].cells[std::string(metric)].push_back(
        {std::string(header_.get(record, "Metric Unit")), record.fields[value]});
  }

  void finish_details() {
    for (Launch& launch : launches_) {
      fill_metrics(launch.kernel, launch.cells, style_, where(launch.kernel, launch.id), refusals_);
      profile_.kernels.push_back(std::move(launch.kernel));
    }
    launches_.clear();
    launch_of_.clear();
  }

  static std::string where(const KernelProfile& kernel, std::string_view id) {
    return fmt::format("{}, launch {}", kernel.kernel, id);
  }

  struct Launch {
    std::string id;
    KernelProfile kernel;
    NcuCells cells;
  };
  std::string_view text_;
  std::string name_;
  NumberStyle style_;
  Header header_;
  std::vector<Launch> launches_;                  // of the details page, until its end
  std::map<std::string, std::size_t> launch_of_;  // process and launch → place in launches_
  int passed_over_ = 0;
  Refusals refusals_;
  Profile profile_;
};

Status check_format(std::string_view text, std::string_view name) {
  if (starts_with(text, "\xff\xfe") || starts_with(text, "\xfe\xff"))
    return fail(fmt::format("{}: is UTF-16 text", name),
                "save it as UTF-8 (in PowerShell: ncu ... | Out-File -Encoding utf8 FILE.csv)");
  if (starts_with(text, "NVR") || contains(text.substr(0, 4096), std::string_view("\0", 1)))
    return fail(fmt::format("{}: is a binary file", name), std::string(kExport));
  return {};
}

}  // namespace

Result<Profile> read_ncu_csv(std::string_view text, std::string_view name) {
  KP_TRY(check_format(text, name));
  text = without_bom(text);
  auto at = find_header(text);
  if (!at) {
    if (starts_with(text, "\"ID\";") || starts_with(text, "ID;"))
      return fail(fmt::format("{}: has semicolons where ncu writes commas: a spreadsheet saved it, "
                              "and may have changed its numbers",
                              name),
                  std::string(kExport));
    NcuTrouble trouble = ncu_trouble(text);
    if (trouble.kind != NcuTrouble::Kind::none)
      return fail(fmt::format("{}: {}", name, trouble.message), trouble.hint);
    return fail(fmt::format("{}: no table of Nsight Compute (no line starts with \"ID\" and names "
                            "\"Kernel Name\")",
                            name),
                std::string(kExport));
  }
  std::string_view table = text.substr(*at);
  std::string_view first_line = table.substr(0, table.find('\n'));
  if (contains(first_line, "Metric Name") && !contains(first_line, "Metric Value"))
    return fail(fmt::format("{}: a details page without the column \"Metric Value\"", name),
                "export without --print-summary");
  Profile profile = PageReader(table, name).read();
  if (profile.kernels.empty())
    return fail(fmt::format("{}: has a header but no whole row of a kernel", name),
                "the file seems cut short; " + std::string(kExport));
  return profile;
}

}  // namespace kp
