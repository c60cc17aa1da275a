#include "tools/rules/merge.h"

#include <fmt/format.h>

#include "rules/pack/file.h"
#include "rules/pack/merge.h"
#include "synth/scale/shards.h"
#include "tools/common/tool.h"

namespace pet::rules {
namespace {

Expected<std::vector<NamedPack>> readPacks(const std::vector<std::string>& files,
                                           const std::vector<std::string>& bytes) {
  std::vector<NamedPack> packs;
  for (size_t i = 0; i < files.size(); ++i) {
    auto rules = readPackBytes(bytes[i], files[i]);
    if (!rules) return tl::unexpected(rules.error());
    auto notes = readPackNotesBytes(bytes[i], files[i]);
    if (!notes) return tl::unexpected(notes.error());
    packs.push_back({files[i], std::move(*rules), std::move(*notes)});
  }
  return packs;
}

Expected<std::vector<std::string>> readAll(const std::vector<std::string>& files) {
  std::vector<std::string> all;
  for (const std::string& file : files) {
    auto bytes = readFile(file, ErrorKind::kPack);
    if (!bytes) return tl::unexpected(bytes.error());
    all.push_back(std::move(*bytes));
  }
  return all;
}

Expected<void> mergeOfParts(const std::vector<std::string>& files,
                            const std::vector<std::string>& bytes,
                            const std::string& output) {
  std::vector<NamedPart> parts;
  for (size_t i = 0; i < files.size(); ++i) {
    if (!looksLikeOutcomes(bytes[i])) {
      return fail(ErrorKind::kUsage, "not a part of a search, but other files are", files[i],
                  "merge either packs or parts");
    }
    auto outcomes = readOutcomes(bytes[i], files[i]);
    if (!outcomes) return tl::unexpected(outcomes.error());
    parts.push_back({files[i], std::move(*outcomes)});
  }
  auto merged = mergeParts(std::move(parts));
  if (!merged) return tl::unexpected(merged.error());
  if (auto ok = writePack(merged->rules, output, merged->notes); !ok) return ok;
  if (merged->missing > 0) tool::note(fmt::format("partial: {}\n", merged->notes.metadata["partial"]));
  return {};
}

}  // namespace

Expected<void> merge(const std::vector<std::string>& files, const std::string& output) {
  if (auto ok = tool::distinctFiles({output}, files); !ok) return ok;
  if (auto ok = checkWritable(output); !ok) return ok;
  auto bytes = readAll(files);
  if (!bytes) return tl::unexpected(bytes.error());
  for (const std::string& b : *bytes) {
    if (looksLikeOutcomes(b)) return mergeOfParts(files, *bytes, output);
  }
  auto packs = readPacks(files, *bytes);
  if (!packs) return tl::unexpected(packs.error());
  auto merged = mergePacks(std::move(*packs));
  if (!merged) return tl::unexpected(merged.error());
  return writePack(merged->rules, output, merged->notes);
}

Expected<void> diff(const std::vector<std::string>& files) {
  auto bytes = readAll(files);
  if (!bytes) return tl::unexpected(bytes.error());
  auto packs = readPacks(files, *bytes);
  if (!packs) return tl::unexpected(packs.error());
  std::string text = comparePacks((*packs)[0], (*packs)[1]);
  if (text.empty()) return {};
  if (auto ok = tool::print(text); !ok) return ok;
  return fail(ErrorKind::kCheck, fmt::format("not the same as {}", files[0]), files[1]);
}

}  // namespace pet::rules
