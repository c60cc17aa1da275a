#include "synth/scale/shards.h"

#include <map>

#include <fmt/format.h>

#include "rules/text.h"
#include "synth/search/reduce.h"

namespace pet {
namespace {

tl::unexpected<Error> refusedPart(const std::string& where, std::string what, std::string advice) {
  return fail(ErrorKind::kUsage, std::move(what), where, std::move(advice));
}

/// Every part is one, of the same search as the first.
Expected<void> checkEach(const std::vector<NamedPart>& parts) {
  const SearchId& first = parts[0].outcomes.id;
  if (first.code != searchCode()) {
    return refusedPart(parts[0].name, "made by another build of pet", "merge with the pet-rules of that build");
  }
  for (const NamedPart& p : parts) {
    std::string other = difference(p.outcomes.id, first);
    if (!other.empty()) {
      return refusedPart(p.name, fmt::format("of another search than {}: {}", parts[0].name, other),
                         "all parts must be of one search");
    }
    if (!p.outcomes.ended) {
      return refusedPart(p.name, "a checkpoint, or a part that was cut off", "merge what --shard wrote with -o");
    }
  }
  return {};
}

/// Each part of the search once.
Expected<void> checkAll(const std::vector<NamedPart>& parts) {
  size_t count = parts[0].outcomes.shard.count;
  std::map<size_t, const NamedPart*> found;
  for (const NamedPart& p : parts) {
    const Shard& shard = p.outcomes.shard;
    if (shard.count != count) {
      return refusedPart(
          p.name, fmt::format("part {}, but {} is part {}", shard.str(), parts[0].name, parts[0].outcomes.shard.str()),
          "all parts must be of one division");
    }
    auto [other, fresh] = found.emplace(shard.index, &p);
    if (!fresh) {
      return refusedPart(p.name, fmt::format("part {} comes twice, also as {}", shard.str(), other->second->name),
                         "name each part once");
    }
  }
  std::string missing;
  for (size_t i = 1; i <= count; ++i) {
    if (!found.contains(i) && missing.size() < 60) missing += fmt::format(" {}", Shard{i, count}.str());
  }
  if (missing.empty()) return {};
  return refusedPart("", fmt::format("{} of {} parts are missing:{}", count - found.size(), count, missing),
                     "name every part");
}

/// The reduction of checked parts.
Expected<MergedParts> reduceParts(std::vector<NamedPart> parts) {
  const SearchId id = parts[0].outcomes.id;
  auto patterns = parseRules(id.patterns, parts[0].name);
  if (!patterns) return fail(ErrorKind::kPack, patterns.error().message(), parts[0].name);
  std::vector<UnitOutcome> all;
  for (NamedPart& p : parts)
    std::move(p.outcomes.done.begin(), p.outcomes.done.end(), std::back_inserter(all));
  size_t missing = id.units - all.size();
  auto reduced = reduce(patterns->patterns, std::move(all));
  if (!reduced) return tl::unexpected(reduced.error());
  return MergedParts{std::move(reduced->rules), searchNotes(id, missing, reduced->sources), missing};
}

}  // namespace

Expected<MergedParts> mergeParts(std::vector<NamedPart> parts) {
  if (auto ok = checkEach(parts); !ok) return tl::unexpected(ok.error());
  if (auto ok = checkAll(parts); !ok) return tl::unexpected(ok.error());
  std::string name = parts[0].name;
  try {
    return reduceParts(std::move(parts));
  } catch (const OverflowError& e) {
    return fail(ErrorKind::kPack, e.what(), name);
  }
}

}  // namespace pet
