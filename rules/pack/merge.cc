#include "rules/pack/merge.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "rules/text.h"

namespace pet {
namespace {

constexpr const char* kPartial = "partial";

/// What has come so far, and from where.
class Merger {
 public:
  Expected<void> add(NamedPack pack) {
    for (Pattern& p : pack.rules.patterns) {
      auto [known, fresh] = patterns_.emplace(p.name, Known{print(p), "", pack.name});
      if (!fresh && known->second.statement != print(p)) return differs("pattern " + p.name, known->second, pack.name);
      if (fresh) result_.rules.patterns.push_back(std::move(p));
    }
    for (Rule& r : pack.rules.rules) {
      if (auto ok = addRule(std::move(r), pack.name); !ok) return ok;
    }
    for (auto& [rule, entries] : pack.notes.evidence) {
      for (auto& [key, value] : entries) {
        auto [known, fresh] = result_.notes.evidence[rule].emplace(key, value);
        if (!fresh && known->second != value) {
          return fail(ErrorKind::kUsage, fmt::format("evidence {} about rule {} is not what it was before", key, rule),
                      pack.name, "merge packs that agree");
        }
      }
    }
    metadata_.push_back(std::move(pack.notes.metadata));
    return {};
  }

  NamedPack finish() {
    for (const auto& [key, value] : metadata_[0]) {
      bool everywhere = std::all_of(metadata_.begin(), metadata_.end(), [&, &k = key, &v = value](const auto& m) {
        auto found = m.find(k);
        return found != m.end() && found->second == v;
      });
      if (everywhere) result_.notes.metadata.emplace(key, value);
    }
    bool partial = std::any_of(metadata_.begin(), metadata_.end(), [](const auto& m) { return m.contains(kPartial); });
    if (partial) result_.notes.metadata.emplace(kPartial, "merged from a partial pack");
    return std::move(result_);
  }

 private:
  struct Known {
    std::string statement, proof, file;
    size_t index = 0;
  };

  static tl::unexpected<Error> differs(const std::string& what, const Known& known, const std::string& file) {
    return fail(ErrorKind::kUsage, fmt::format("{} is not the one of {}", what, known.file), file,
                "a name stands for one thing; merge packs that agree");
  }

  Expected<void> addRule(Rule rule, const std::string& file) {
    std::string statement = printStatement(rule);
    std::string proof = print(rule).substr(statement.size());
    auto [place, fresh] = rules_.emplace(rule.name, Known{statement, proof, file, result_.rules.rules.size()});
    Known& known = place->second;
    if (fresh) {
      result_.rules.rules.push_back(std::move(rule));
    } else if (known.statement != statement) {
      return differs("rule " + rule.name, known, file);
    } else if (std::pair(proof.size(), proof) < std::pair(known.proof.size(), known.proof)) {
      known.proof = std::move(proof);
      result_.rules.rules[known.index] = std::move(rule);
    }
    return {};
  }

  NamedPack result_;
  std::map<std::string, Known> patterns_, rules_;
  std::vector<std::map<std::string, std::string>> metadata_;
};

/// One line for each name at which two maps differ.
std::string compare(std::string_view what,
                    const std::map<std::string, std::string>& a,
                    const std::map<std::string, std::string>& b) {
  std::set<std::string> names;
  for (const auto* side : {&a, &b}) {
    for (const auto& [name, text] : *side)
      names.insert(name);
  }
  std::string lines;
  for (const std::string& name : names) {
    auto inA = a.find(name), inB = b.find(name);
    char sign = inB == b.end() ? '-' : inA == a.end() ? '+' : inA->second != inB->second ? '~' : ' ';
    if (sign != ' ') lines += fmt::format("{} {} {}\n", sign, what, name);
  }
  return lines;
}

struct Texts {
  explicit Texts(const NamedPack& pack) {
    for (const Pattern& p : pack.rules.patterns)
      patterns[p.name] = print(p);
    for (const Rule& r : pack.rules.rules) {
      statements[r.name] = printStatement(r);
      proofs[r.name] = print(r);
    }
  }
  std::map<std::string, std::string> patterns, statements, proofs;
};

}  // namespace

Expected<NamedPack> mergePacks(std::vector<NamedPack> packs) {
  Merger merger;
  for (NamedPack& pack : packs) {
    if (auto ok = merger.add(std::move(pack)); !ok) return tl::unexpected(ok.error());
  }
  return merger.finish();
}

std::string comparePacks(const NamedPack& a, const NamedPack& b) {
  Texts before(a), after(b);
  std::string text = compare("metadata", a.notes.metadata, b.notes.metadata) +
                     compare("pattern", before.patterns, after.patterns) +
                     compare("rule", before.statements, after.statements);
  for (const auto& [name, statement] : before.statements) {
    auto other = after.statements.find(name);
    bool same = other != after.statements.end() && other->second == statement;
    if (same && before.proofs[name] != after.proofs[name]) text += fmt::format("= rule {}\n", name);
  }
  return text;
}

}  // namespace pet
