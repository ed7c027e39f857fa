#pragma once
// One table of `nsys stats --format csv`, recognised by its columns, and its rows.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "profile/csv.h"
#include "profile/ncu_cells.h"

namespace kp {

struct NsysTable {
  enum class Kind { none, kernel_sum, transfer_sum, call_sum, gpu_trace, call_trace, other };
  struct Column {
    std::size_t at = 0;
    std::string unit;  // "ns" of "Start (ns)"; empty when the header has none
  };
  Kind kind = Kind::none;
  std::map<std::string, Column, std::less<>> by_name;
  std::string name_column;

  // nullopt: the record is no header. A table of nsys that is of no use here is `other`.
  static std::optional<NsysTable> of(const CsvRecord& record);
  std::size_t columns() const { return by_name.size(); }
  const char* count_column() const;  // "Instances", "Num Calls", "Count", "Operations"
};

// Cells of one row. What is no number in a known unit is refused by name.
class NsysRow {
 public:
  NsysRow(const NsysTable& table, const CsvRecord& record, NumberStyle style, Refusals& refusals)
      : table_(table), record_(record), style_(style), refusals_(refusals) {}
  std::string name() const;
  bool has(std::string_view column) const;  // the cell is there and not empty
  std::optional<double> us(std::string_view column) const;
  std::optional<std::int64_t> ns(std::string_view column) const;
  std::optional<std::int64_t> integer(std::string_view column) const;
  int small(std::string_view column) const;  // 0 when it is not there
  int device() const;                        // "NVIDIA H200 (0)" → 0

 private:
  std::optional<double> number(std::string_view column) const;
  std::optional<double> time(std::string_view column, double per_us) const;
  void refuse(std::string_view column, const std::string& why) const;
  std::string_view cell(std::string_view column) const;
  const NsysTable& table_;
  const CsvRecord& record_;
  NumberStyle style_;
  Refusals& refusals_;
};

NumberStyle nsys_style(std::string_view text);  // decimal commas anywhere make the file suspect
bool is_cuda_call(std::string_view name);       // "cudaMalloc", "cuLaunchKernel"

}  // namespace kp
