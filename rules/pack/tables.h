#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rules/pack/database.h"

// What a pack's tables hold, and how they are digested (docs/pack-format.md). Private to this folder.
namespace pet {

inline constexpr FileKind kPack{
    .noun = "a pack",
    .applicationId = 0x70657472,  // "petr"
    .version = 3,
    .schema =
        "CREATE TABLE evidence(rule TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY(rule, key)) "
        "STRICT, WITHOUT ROWID\n"
        "CREATE TABLE metadata(key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID\n"
        "CREATE TABLE patterns(name TEXT NOT NULL PRIMARY KEY, anchor TEXT NOT NULL, rules TEXT NOT NULL, "
        "text TEXT NOT NULL) STRICT, WITHOUT ROWID\n"
        "CREATE TABLE rules(pattern TEXT NOT NULL, name TEXT NOT NULL, hash TEXT NOT NULL, family TEXT NOT NULL, "
        "depth INTEGER NOT NULL, boxes INTEGER NOT NULL, numerics TEXT NOT NULL, statement TEXT NOT NULL, "
        "proof TEXT NOT NULL, PRIMARY KEY(pattern, name)) STRICT, WITHOUT ROWID\n",
    .remake = "make it again: pet-synth -o {}",
};

/// The format's own keys of the metadata: the digest of everything else, and that of the evidence.
inline constexpr const char *kContent = "content", *kEvidence = "evidence";

/// Every value as text.
using Row = std::vector<std::string>;
using Rows = std::vector<Row>;  ///< in the order of the primary key

/// Columns of `patterns`.
struct PatternColumn {
  enum { kName, kAnchor, kRules, kText };
};
/// Columns of `rules`.
struct RuleColumn {
  enum { kPattern, kName, kHash, kFamily, kDepth, kBoxes, kNumerics, kStatement, kProof };
};

/// The digest of rows of a table: of all, or of the rules of one pattern.
std::string digestOf(std::string_view table, const Rows& rows);
/// The digest of a pack: of the metadata without `content`, and of the patterns. The patterns have those of their
/// rules.
std::string contentDigest(const Rows& metadata, const Rows& patterns);
/// A rule's hash.
std::string hashOf(std::string_view patternText, std::string_view statement);

/// Reads a table, or the rows of one pattern in `rules`, in the order of their keys, the first `keys` columns. kPack:
/// the rows do not come in that order (in a damaged tree they may have no end); a value is not plain text. Throws
/// SQLite's exceptions.
Expected<Rows> readRows(SQLite::Database& database,
                        const std::string& file,
                        const char* table,
                        int keys,
                        const std::optional<std::string>& pattern = {});

}  // namespace pet
