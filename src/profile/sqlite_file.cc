#include "profile/sqlite_file.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <cctype>

#include "base/clock.h"
#include "base/text.h"

namespace kp {

struct SqliteFile::Handle {
  sqlite3* db = nullptr;
  std::string name;
  Stopwatch watch;
  double most_seconds = 0;
  ~Handle() { sqlite3_close_v2(db); }
};

std::optional<std::int64_t> SqliteRow::integer(int column) const {
  if (sqlite3_column_type(statement_, column) != SQLITE_INTEGER) return std::nullopt;
  return sqlite3_column_int64(statement_, column);
}

std::optional<std::string> SqliteRow::text(int column) const {
  if (sqlite3_column_type(statement_, column) != SQLITE_TEXT) return std::nullopt;
  const unsigned char* text = sqlite3_column_text(statement_, column);
  if (text == nullptr) return std::nullopt;
  auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
  return std::string(reinterpret_cast<const char*>(text), size);
}

bool is_sqlite(std::string_view start) {
  return starts_with(start, std::string_view("SQLite format 3\0", 16));
}

Result<SqliteFile> SqliteFile::open(const fs::path& path, double most_seconds) {
  auto handle = std::make_shared<Handle>();
  handle->name = path.string();
  handle->most_seconds = most_seconds;
  // immutable: no journal is looked for and no lock is made, so a read-only folder will do.
  std::string uri = "file:";
  for (unsigned char c : fs::absolute(path).string()) {
    bool plain = std::isalnum(c) != 0 || c == '/' || c == '.' || c == '_' || c == '-';
    uri += plain ? std::string(1, static_cast<char>(c)) : fmt::format("%{:02x}", c);
  }
  uri += "?immutable=1";
  int status =
      sqlite3_open_v2(uri.c_str(), &handle->db,
                      SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nullptr);
  if (status != SQLITE_OK)
    return fail(fmt::format("{}: cannot be opened as SQLite: {}", handle->name,
                            handle->db == nullptr ? "no memory" : sqlite3_errmsg(handle->db)));
  sqlite3* db = handle->db;
  sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 1 << 24);
  sqlite3_progress_handler(
      db, 100000,
      [](void* data) {
        const auto* h = static_cast<const Handle*>(data);
        return h->watch.seconds() > h->most_seconds ? 1 : 0;
      },
      handle.get());
  return SqliteFile(std::move(handle));
}

Status SqliteFile::run(const std::string& query,
                       const std::function<void(const SqliteRow&)>& each) const {
  sqlite3_stmt* raw = nullptr;
  auto trouble = [&](int status) {
    if (status == SQLITE_INTERRUPT)
      return fail(
          fmt::format("{}: reading took more than {:.0f} s", handle_->name, handle_->most_seconds),
          "record less, or give `nsys stats --format csv` instead");
    return fail(fmt::format("{}: {}", handle_->name, sqlite3_errmsg(handle_->db)),
                "the file seems damaged or cut short; export it again: "
                "nsys export --type sqlite FILE.nsys-rep");
  };
  int status = sqlite3_prepare_v2(handle_->db, query.c_str(), -1, &raw, nullptr);
  std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> statement(raw, sqlite3_finalize);
  if (status != SQLITE_OK) return trouble(status);
  while ((status = sqlite3_step(raw)) == SQLITE_ROW) each(SqliteRow(raw));
  if (status != SQLITE_DONE) return trouble(status);
  return {};
}

bool SqliteFile::has_table(const std::string& table) const {
  bool found = false;
  auto done =
      run(fmt::format("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = '{}'", table),
          [&](const SqliteRow&) { found = true; });
  return done && found;
}

Result<std::vector<std::string>> SqliteFile::columns_of(const std::string& table) const {
  std::vector<std::string> names;
  KP_TRY(run(fmt::format("PRAGMA table_info(\"{}\")", table), [&](const SqliteRow& row) {
    if (auto name = row.text(1)) names.push_back(*name);
  }));
  return names;
}

Status SqliteFile::read(const std::string& table, const std::vector<std::string>& columns,
                        const std::string& tail,
                        const std::function<void(const SqliteRow&)>& each) const {
  KP_ASSIGN(std::vector<std::string> known, columns_of(table));
  std::vector<std::string> cells;
  for (const std::string& column : columns) {
    bool there = std::find(known.begin(), known.end(), column) != known.end();
    cells.push_back(there ? "\"" + column + "\"" : "NULL");
  }
  return run(fmt::format("SELECT {} FROM \"{}\" {}", join(cells, ", "), table, tail), each);
}

}  // namespace kp
