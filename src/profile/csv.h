#pragma once
// CSV as ncu writes it, found among other text: quoted fields, doubled quotes, line breaks inside
// quotes, CRLF. Never fails: a line whose quotes do not match is handed out as `plain`.
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kp {

struct CsvRecord {
  std::vector<std::string> fields;
  std::size_t line = 0;  // of the text, from 1
  bool plain = false;    // no CSV: `fields` holds the line as it is
  bool cut = false;      // the text ends inside this record's last field: that field is not whole
};

class CsvReader {
 public:
  explicit CsvReader(std::string_view text) : text_(text) {}
  std::optional<CsvRecord> next();

 private:
  std::optional<CsvRecord> parse();  // at pos_; nullopt when quotes do not match
  std::string_view text_;
  std::size_t pos_ = 0;
  std::size_t line_ = 1;
};

// Text without a byte-order mark. UTF-16 and other encodings are not handled.
std::string_view without_bom(std::string_view text);

}  // namespace kp
