#include "rules/pack/cache.h"

#include <filesystem>
#include <utility>

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>

namespace pet {
namespace {

constexpr int kApplicationId = 0x70657463;  // "petc"
constexpr const char* kAdvice = "delete it, or give another place with --cache";
constexpr int kPatience = 10000;  ///< milliseconds that another process may hold the file

}  // namespace

struct Cache::State {
  std::string path;
  SQLite::Database database;

  tl::unexpected<Error> failed(const SQLite::Exception& e) const {
    return fail(ErrorKind::kUsage, fmt::format("cannot use the cache: {}", e.what()), path, kAdvice);
  }
};

Cache::Cache(std::unique_ptr<State> state) : state_(std::move(state)) {}
Cache::Cache(Cache&&) noexcept = default;
Cache& Cache::operator=(Cache&&) noexcept = default;
Cache::~Cache() = default;

Expected<Cache> Cache::open(const std::string& path) {
  std::error_code ignored;
  auto folder = std::filesystem::path(path).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, ignored);
  try {
    auto state = std::make_unique<State>(
        State{path, SQLite::Database(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE, kPatience)});
    SQLite::Database& db = state->database;
    SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
    const int tables = db.execAndGet("SELECT count(*) FROM sqlite_schema").getInt();
    const int id = db.execAndGet("PRAGMA application_id").getInt();
    if (tables > 0 && id != kApplicationId) return fail(ErrorKind::kUsage, "is no cache of pet's", path, kAdvice);
    db.exec(fmt::format("PRAGMA application_id = {}", kApplicationId));
    db.exec("CREATE TABLE IF NOT EXISTS results(key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID");
    transaction.commit();
    return Cache(std::move(state));
  } catch (const SQLite::Exception& e) {
    return fail(ErrorKind::kUsage, fmt::format("cannot use the cache: {}", e.what()), path, kAdvice);
  }
}

Expected<std::optional<std::string>> Cache::find(std::string_view key) {
  try {
    SQLite::Statement query(state_->database, "SELECT value FROM results WHERE key = ?");
    query.bind(1, std::string(key));
    if (!query.executeStep()) return std::nullopt;
    return query.getColumn(0).getString();
  } catch (const SQLite::Exception& e) {
    return state_->failed(e);
  }
}

Expected<void> Cache::put(std::string_view key, std::string_view value) {
  try {
    SQLite::Statement insert(state_->database, "INSERT OR REPLACE INTO results VALUES (?, ?)");
    insert.bind(1, std::string(key));
    insert.bind(2, std::string(value));
    insert.exec();
    return {};
  } catch (const SQLite::Exception& e) {
    return state_->failed(e);
  }
}

}  // namespace pet
