#pragma once
// An SQLite file that nobody vouches for, read only. Nothing but its plain tables is looked at,
// with a bound on time.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"

struct sqlite3;
struct sqlite3_stmt;

namespace kp {

// Cells of the row that a query stands at. A cell of another type is nullopt.
class SqliteRow {
 public:
  explicit SqliteRow(sqlite3_stmt* statement) : statement_(statement) {}
  std::optional<std::int64_t> integer(int column) const;
  std::optional<std::string> text(int column) const;

 private:
  sqlite3_stmt* statement_;
};

class SqliteFile {
 public:
  static Result<SqliteFile> open(const fs::path& path, double most_seconds);

  bool has_table(const std::string& table) const;  // a table, no view
  // Reads `columns` of a table, in the order of rows; a column that the table lacks gives empty
  // cells. `tail`: "ORDER BY start LIMIT 5".
  Status read(const std::string& table, const std::vector<std::string>& columns,
              const std::string& tail, const std::function<void(const SqliteRow&)>& each) const;

 private:
  struct Handle;
  explicit SqliteFile(std::shared_ptr<Handle> handle) : handle_(std::move(handle)) {}
  Result<std::vector<std::string>> columns_of(const std::string& table) const;
  Status run(const std::string& query, const std::function<void(const SqliteRow&)>& each) const;
  std::shared_ptr<Handle> handle_;
};

bool is_sqlite(std::string_view start);  // by a file's first bytes

}  // namespace kp
