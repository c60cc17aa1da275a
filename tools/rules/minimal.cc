#include "tools/rules/minimal.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "rules/pack/pack.h"
#include "tools/common/status_line.h"
#include "tools/common/tool.h"

namespace pet::rules {
namespace {

using Json = nlohmann::ordered_json;

std::string asJson(const cover::MinimalSet& minimal) {
  Json j = {{"kept", Json::array()}, {"dropped", Json::array()}};
  for (const Rule& r : minimal.kept.rules)
    j["kept"].push_back(r.name);
  for (const cover::Dropped& d : minimal.dropped)
    j["dropped"].push_back({{"name", d.rule}, {"reason", cover::redundancyName(d.why)}, {"by", d.by}});
  return j.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string asText(const cover::MinimalSet& minimal) {
  std::string text;
  std::map<cover::Redundancy, size_t> count;
  for (const cover::Dropped& d : minimal.dropped) {
    ++count[d.why];
    text += fmt::format("dropped {} - {}{}{}\n", d.rule, cover::redundancyName(d.why), d.by.empty() ? "" : ": ",
                        fmt::join(d.by, ", "));
  }
  text += fmt::format("{} rules kept, {} dropped", minimal.kept.rules.size(), minimal.dropped.size());
  std::vector<std::string> parts;
  for (const auto& [why, number] : count)
    parts.push_back(fmt::format("{} {}", number, cover::redundancyName(why)));
  return text + (parts.empty() ? "\n" : fmt::format(" ({})\n", fmt::join(parts, ", ")));
}

}  // namespace

Expected<void> minimal(const std::string& pack, const std::string& output, const MinimalOptions& options) {
  if (auto ok = tool::distinctFiles({output}, {pack}); !ok) return ok;
  auto set = readPack(pack);
  if (!set) return tl::unexpected(set.error());
  auto notes = readPackNotes(pack);
  if (!notes) return tl::unexpected(notes.error());
  tool::StatusLine status(options.quiet);
  cover::MinimalSet reduced =
      cover::minimalSet(*set, options.limits, [&](double share) { status.show("looking for what follows", share); });
  status.clear();
  std::erase_if(notes->evidence, [&](const auto& of) { return !reduced.kept.findRule(of.first); });
  if (!output.empty()) {
    if (auto ok = writePack(reduced.kept, output, *notes); !ok) return ok;
  }
  return tool::print(options.json ? asJson(reduced) : asText(reduced));
}

}  // namespace pet::rules
