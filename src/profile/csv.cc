#include "profile/csv.h"

#include <algorithm>

#include "base/text.h"

namespace kp {

std::string_view without_bom(std::string_view text) {
  if (starts_with(text, "\xef\xbb\xbf")) text.remove_prefix(3);
  return text;
}

std::optional<CsvRecord> CsvReader::parse() {
  CsvRecord record;
  record.line = line_;
  std::size_t at = pos_;
  while (true) {
    std::string field;
    bool quoted = at < text_.size() && text_[at] == '"';
    if (quoted) {
      ++at;
      while (true) {
        std::size_t quote = text_.find('"', at);
        if (quote == std::string_view::npos) return std::nullopt;
        field.append(text_.substr(at, quote - at));
        at = quote + 1;
        if (at >= text_.size() || text_[at] != '"') break;
        field.push_back('"');
        ++at;
      }
    } else {
      std::size_t end = text_.find_first_of(",\n", at);
      if (end == std::string_view::npos) end = text_.size();
      field.assign(text_.substr(at, end - at));
      at = end;
      record.cut = at >= text_.size();  // a quoted field is whole once its quote closed
      if (!field.empty() && field.back() == '\r') field.pop_back();
    }
    record.fields.push_back(std::move(field));
    if (quoted && at < text_.size() && text_[at] == '\r') ++at;
    if (at < text_.size() && text_[at] == ',') {
      ++at;
      continue;
    }
    if (at < text_.size() && text_[at] != '\n') return std::nullopt;
    break;
  }
  std::size_t next = std::min(at + 1, text_.size());
  line_ +=
      static_cast<std::size_t>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(pos_),
                                          text_.begin() + static_cast<std::ptrdiff_t>(next), '\n'));
  pos_ = next;
  return record;
}

std::optional<CsvRecord> CsvReader::next() {
  if (pos_ >= text_.size()) return std::nullopt;
  if (auto record = parse()) return record;
  CsvRecord plain;
  plain.plain = true;
  plain.line = line_;
  std::size_t end = text_.find('\n', pos_);
  plain.cut = end == std::string_view::npos;
  if (plain.cut) end = text_.size();
  plain.fields.emplace_back(text_.substr(pos_, end - pos_));
  pos_ = std::min(end + 1, text_.size());
  ++line_;
  return plain;
}

}  // namespace kp
