#include "rules/pack/tables.h"

#include <algorithm>

#include <fmt/format.h>

#include "rules/pack/digest.h"
#include "rules/pack/plain_text.h"

namespace pet {
namespace {

constexpr const char* kFormat = "pet pack 3";

/// Compares two rows by their first columns.
bool isBefore(const Row& a, const Row& b, int keys) {
  return std::lexicographical_compare(a.begin(), a.begin() + keys, b.begin(), b.begin() + keys);
}

}  // namespace

std::string digestOf(std::string_view table, const Rows& rows) {
  Digest digest;
  digest.add(kFormat).add(table).add(std::to_string(rows.size()));
  for (const Row& row : rows) {
    for (const std::string& value : row)
      digest.add(value);
  }
  return digest.hex();
}

std::string contentDigest(const Rows& metadata, const Rows& patterns) {
  Rows others = metadata;
  std::erase_if(others, [](const Row& row) { return row[0] == kContent; });
  return Digest().add(kFormat).add(digestOf("metadata", others)).add(digestOf("patterns", patterns)).hex();
}

std::string hashOf(std::string_view patternText, std::string_view statement) {
  return Digest().add("pet rule 1").add(patternText).add(statement).hex();
}

Expected<Rows> readRows(SQLite::Database& database,
                        const std::string& file,
                        const char* table,
                        int keys,
                        const std::optional<std::string>& pattern) {
  SQLite::Statement query(database,
                          fmt::format("SELECT * FROM {}{} ORDER BY 1, 2", table, pattern ? " WHERE pattern = ?" : ""));
  if (pattern) query.bind(1, *pattern);
  Rows rows;
  while (query.executeStep()) {
    Row row;
    for (int i = 0; i < query.getColumnCount(); ++i)
      row.push_back(query.getColumn(i).getString());
    if (!std::all_of(row.begin(), row.end(), isPlainText))
      return damaged(kPack, file, fmt::format("a row of {} is not plain text in UTF-8", table));
    if (!rows.empty() && !isBefore(rows.back(), row, keys))
      return damaged(kPack, file, fmt::format("the rows of {} are not in order", table));
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace pet
