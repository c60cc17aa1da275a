#include "rules/pack/database.h"

#include <cctype>
#include <filesystem>

#include <fmt/format.h>
#include <sqlite3.h>

#include "ir/shell.h"
#include "rules/pack/file.h"

namespace pet {
namespace {

constexpr std::string_view kMagic("SQLite format 3\0", 16);

uint32_t bigEndian(std::string_view bytes, size_t at, size_t count) {
  uint32_t value = 0;
  for (size_t i = 0; i < count; ++i)
    value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

/// The schema's statements as SQLite keeps them.
std::string schemaOf(SQLite::Database& database) {
  std::string text;
  SQLite::Statement query(database, "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name");
  while (query.executeStep())
    text += query.getColumn(0).getString() + "\n";
  return text;
}

/// What the first bytes of a file of this size tell.
Expected<void> checkHeader(const FileKind& kind, std::string_view bytes, size_t size, const std::string& name) {
  if (bytes.empty()) return fail(ErrorKind::kPack, "the file is empty", name, remake(kind, name));
  if (!looksLikeDatabase(bytes)) {
    return fail(ErrorKind::kPack, fmt::format("not {}", kind.noun), name, "expected an SQLite file");
  }
  auto truncated = [&](size_t wanted) {
    return fail(ErrorKind::kPack, fmt::format("truncated: {} of {} bytes", size, wanted), name,
                "copy it again, or " + remake(kind, name));
  };
  if (bytes.size() < kFileHeader) return truncated(kFileHeader);
  if (bigEndian(bytes, 68, 4) != kind.applicationId) {
    return fail(ErrorKind::kPack, fmt::format("not {}: an SQLite file of another application", kind.noun), name);
  }
  if (uint32_t version = bigEndian(bytes, 60, 4); version != static_cast<uint32_t>(kind.version)) {
    if (version < static_cast<uint32_t>(kind.version)) {
      return fail(ErrorKind::kPack, fmt::format("written in format {}, which is not read any more", version), name,
                  remake(kind, name));
    }
    return fail(ErrorKind::kPack,
                fmt::format("written in format {}, this program reads up to {}", version, kind.version), name,
                "use a newer pet");
  }
  size_t pageSize = bigEndian(bytes, 16, 2), pages = bigEndian(bytes, 28, 4);
  if (pageSize == 1) pageSize = 65536;
  if (size < pageSize * pages) return truncated(pageSize * pages);
  if (size > pageSize * pages) {
    return fail(ErrorKind::kPack, fmt::format("{} bytes stand behind the database", size - pageSize * pages), name,
                remake(kind, name));
  }
  return {};
}

/// The schema is compared as text before anything of it is run: no view or trigger of a stranger.
Expected<void> checkSchema(const FileKind& kind, SQLite::Database& database, const std::string& name) {
  database.exec("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON");
  if (schemaOf(database) == kind.schema) return {};
  return damaged(kind, name, "its tables are not those of " + std::string(kind.noun));
}

/// Opened as a file that nobody changes: without locks, journals and files beside it.
std::string uriOf(const std::string& path) {
  std::string uri = "file:";
  for (char c : std::filesystem::absolute(path).string()) {
    const bool isPlain = std::isalnum(static_cast<unsigned char>(c)) || c == '/' || c == '.' || c == '-' || c == '_';
    uri += isPlain ? std::string(1, c) : fmt::format("%{:02x}", static_cast<unsigned char>(c));
  }
  return uri + "?immutable=1";
}

}  // namespace

std::string remake(const FileKind& kind, const std::string& name) {
  const size_t place = kind.remake.find("{}");
  if (place == std::string_view::npos) return std::string(kind.remake);
  return std::string(kind.remake.substr(0, place)) + shellWord(name);
}

tl::unexpected<Error> damaged(const FileKind& kind, const std::string& name, std::string_view what) {
  return fail(ErrorKind::kPack, fmt::format("damaged: {}", what), name, remake(kind, name));
}

bool looksLikeDatabase(std::string_view bytes) {
  return bytes.substr(0, kMagic.size()) == kMagic.substr(0, bytes.size()) && !bytes.empty();
}

int versionOf(std::string_view bytes) {
  return static_cast<int>(bigEndian(bytes, 60, 4));
}

std::unique_ptr<SQLite::Database> createDatabase(const FileKind& kind) {
  auto database = std::make_unique<SQLite::Database>(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  // secure_delete: no page keeps what stood there before, so that the bytes are a function of the content.
  database->exec(
      fmt::format("PRAGMA page_size = 4096; PRAGMA encoding = 'UTF-8'; PRAGMA auto_vacuum = NONE;"
                  "PRAGMA secure_delete = ON; PRAGMA application_id = {}; PRAGMA user_version = {}; BEGIN",
                  static_cast<int32_t>(kind.applicationId), kind.version));
  for (std::string_view rest = kind.schema; !rest.empty();) {
    size_t end = rest.find('\n');
    database->exec(std::string(rest.substr(0, end)));
    rest.remove_prefix(end + 1);
  }
  return database;
}

std::string databaseBytes(SQLite::Database& database) {
  database.exec("COMMIT");
  sqlite3_int64 size = 0;
  std::unique_ptr<unsigned char, decltype(&sqlite3_free)> bytes(
      sqlite3_serialize(database.getHandle(), "main", &size, 0), &sqlite3_free);
  if (!bytes) throw std::bad_alloc();
  return {reinterpret_cast<const char*>(bytes.get()), static_cast<size_t>(size)};
}

Expected<std::unique_ptr<SQLite::Database>> openDatabase(const FileKind& kind,
                                                         std::string_view bytes,
                                                         const std::string& name) {
  if (auto ok = checkHeader(kind, bytes, bytes.size(), name); !ok) return tl::unexpected(ok.error());
  return guarded(kind, name, [&]() -> Expected<std::unique_ptr<SQLite::Database>> {
    auto database = std::make_unique<SQLite::Database>(":memory:", SQLite::OPEN_READWRITE);
    // READONLY: SQLite does not write to the bytes.
    auto* data = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
    auto size = static_cast<sqlite3_int64>(bytes.size());
    int rc = sqlite3_deserialize(database->getHandle(), "main", data, size, size, SQLITE_DESERIALIZE_READONLY);
    if (rc != SQLITE_OK) throw SQLite::Exception(sqlite3_errstr(rc), rc);
    if (auto ok = checkSchema(kind, *database, name); !ok) return tl::unexpected(ok.error());
    return database;
  });
}

Expected<std::unique_ptr<SQLite::Database>> openDatabaseFile(const FileKind& kind, const std::string& path) {
  auto start = readStart(path, kFileHeader, ErrorKind::kPack);
  if (!start) return tl::unexpected(start.error());
  if (auto ok = checkHeader(kind, start->bytes, start->size, path); !ok) return tl::unexpected(ok.error());
  return guarded(kind, path, [&]() -> Expected<std::unique_ptr<SQLite::Database>> {
    auto database = std::make_unique<SQLite::Database>(uriOf(path), SQLite::OPEN_READONLY | SQLite::OPEN_URI);
    if (auto ok = checkSchema(kind, *database, path); !ok) return tl::unexpected(ok.error());
    return database;
  });
}

Expected<void> checkPages(const FileKind& kind, SQLite::Database& database, const std::string& name) {
  std::string integrity = database.execAndGet("PRAGMA integrity_check(1)").getString();
  if (integrity != "ok") return damaged(kind, name, integrity.substr(0, integrity.find('\n')));
  return {};
}

}  // namespace pet
