#include "synth/scale/identity.h"

#include <charconv>

#include <fmt/format.h>

#include "rules/pack/digest.h"
#include "rules/text.h"
#include "synth/poly/poly.h"

namespace pet {

std::string Shard::str() const {
  return fmt::format("{}/{}", index, count);
}

Expected<Shard> parseShard(const std::string& text) {
  auto bad = [&](std::string what) {
    return fail(ErrorKind::kUsage, fmt::format("'{}': {}", text, what), "--shard",
                "I/N is part I of N, counted from 1: 1/4, 2/4, 3/4, 4/4");
  };
  Shard shard;
  const char* end = text.data() + text.size();
  auto [slash, error] = std::from_chars(text.data(), end, shard.index);
  if (error != std::errc() || slash == end || *slash != '/') return bad("not of the form I/N");
  auto [rest, wrong] = std::from_chars(slash + 1, end, shard.count);
  if (wrong != std::errc() || rest != end) return bad("not of the form I/N");
  if (shard.count < 1 || shard.count > kMostShards) return bad(fmt::format("there can be 1 to {} parts", kMostShards));
  if (shard.index < 1 || shard.index > shard.count) return bad("no such part");
  return shard;
}

std::vector<size_t> unitsOf(const Shard& shard, size_t units) {
  std::vector<size_t> mine;
  for (size_t u = shard.index - 1; u < units; u += shard.count)
    mine.push_back(u);
  return mine;
}

SearchId identify(const Search& search) {
  Digest names;
  for (size_t u = 0; u < search.size(); ++u)
    names.add(search.name(u));
  return {.code = searchCode(),
          .poly = poly::libraryVersion(),
          .patterns = print(RuleSet{search.patterns(), {}}),
          .depth = search.options().depth,
          .operations = search.options().operations,
          .checked = search.options().check,
          .units = search.size(),
          .names = names.hex()};
}

std::string searchKey(const SearchId& id) {
  return Digest()
      .add(id.code)
      .add(id.poly)
      .add(id.patterns)
      .add(std::to_string(id.depth))
      .add(std::to_string(id.operations))
      .add(id.checked ? "checked" : "not checked")
      .add(id.names)
      .hex();
}

std::string difference(const SearchId& there, const SearchId& here) {
  if (there.depth != here.depth) return fmt::format("depth {}, not {}", there.depth, here.depth);
  if (there.operations != here.operations) {
    return fmt::format("{} operations for a proof, not {}", there.operations, here.operations);
  }
  if (there.checked != here.checked) return there.checked ? "with --check" : "with --no-check";
  if (there.patterns != here.patterns) return "other patterns";
  if (there.code != here.code) return "another build of pet";
  if (there.poly != here.poly) return fmt::format("with {}, not {}", there.poly, here.poly);
  if (there != here) return "other units";
  return "";
}

PackNotes searchNotes(const SearchId& id, size_t missing, const std::map<std::string, Source>& sources) {
  PackNotes notes{.metadata = {{"mode", "pattern"}, {"depth", std::to_string(id.depth)}}, .evidence = {}};
  for (const auto& [rule, source] : sources)
    notes.evidence[rule] = {{kSource, std::string(sourceName(source))},
                            {"verdict", std::string(id.checked ? kChecked : kNotChecked)}};
  if (missing > 0) notes.metadata["partial"] = fmt::format("{} of {} units are missing", missing, id.units);
  return notes;
}

}  // namespace pet
