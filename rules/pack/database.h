#pragma once

#include <memory>
#include <new>
#include <string>
#include <string_view>

#include <SQLiteCpp/SQLiteCpp.h>
#include <sqlite3.h>

#include "ir/error.h"

// Shared by packs and timings: SQLite databases that live in memory and travel as bytes. Private to this folder.
namespace pet {

/// A kind of file: what its header and its schema must be.
struct FileKind {
  std::string_view noun;    ///< "a pack", for errors
  uint32_t applicationId;   ///< bytes 68 to 71 of the file
  int version;              ///< user_version, bytes 60 to 63
  std::string_view schema;  ///< CREATE statements, one a line, sorted by name, without semicolons
  std::string_view remake;  ///< advice for a damaged file {}: "make it again: pet-synth -o {}"
};

/// The advice for the file of this name.
std::string remake(const FileKind& kind, const std::string& name);

/// An empty database with the kind's header and schema, in one open transaction.
std::unique_ptr<SQLite::Database> createDatabase(const FileKind& kind);
/// Commits, and the whole file as bytes.
std::string databaseBytes(SQLite::Database& database);

/// Opens bytes that must be a file of this kind; they must outlive the database. Header and schema are checked, pages
/// when they are read. Errors: kPack, with `name` for the path.
Expected<std::unique_ptr<SQLite::Database>> openDatabase(const FileKind& kind,
                                                         std::string_view bytes,
                                                         const std::string& name);
/// The same of a regular file, of which only those pages are read that are asked for. Nothing is locked, and no file is
/// made beside it; it may change while it is open, so that what is read twice need not be the same.
Expected<std::unique_ptr<SQLite::Database>> openDatabaseFile(const FileKind& kind, const std::string& path);

/// SQLite's own check of all pages. kPack: what is wrong.
Expected<void> checkPages(const FileKind& kind, SQLite::Database& database, const std::string& name);

/// Bytes of an SQLite file before its first table.
inline constexpr size_t kFileHeader = 100;
/// The user_version in a file's header, which must be there.
int versionOf(std::string_view bytes);

/// True if the bytes start as an SQLite file does.
bool looksLikeDatabase(std::string_view bytes);

/// An error about a damaged file, with the way out.
tl::unexpected<Error> damaged(const FileKind& kind, const std::string& name, std::string_view what);

/// Runs `body`, turning SQLite's exceptions into an error about a damaged file; that memory ran out is std::bad_alloc.
template <class F>
auto guarded(const FileKind& kind, const std::string& name, F body) -> decltype(body()) {
  try {
    return body();
  } catch (const SQLite::Exception& e) {
    if (e.getErrorCode() == SQLITE_NOMEM) throw std::bad_alloc();
    return damaged(kind, name, e.what());
  }
}

}  // namespace pet
