#include "tools/rules/smt.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "rules/check/smt.h"
#include "rules/pack/file.h"
#include "tools/common/tool.h"

namespace pet::rules {
namespace {

std::string fileName(const std::string& rule) {
  const std::string_view kKept = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  std::string name = rule;
  std::replace_if(
      name.begin(), name.end(), [&](char c) { return kKept.find(c) == std::string_view::npos; }, '-');
  return name + ".smt2";
}

Expected<std::string> scriptOf(const RuleSet& set, const Rule& rule) {
  return smtScript(*set.findPattern(rule.pattern), rule);
}

}  // namespace

Expected<void> exportSmt(const RuleSet& set, const std::vector<const Rule*>& rules, const std::string& folder) {
  if (folder.empty()) {
    if (rules.size() != 1)
      return fail(ErrorKind::kUsage, fmt::format("{} rules without a folder", rules.size()), "", "give -o or --only");
    auto script = scriptOf(set, *rules[0]);
    return script ? tool::print(*script) : tl::unexpected(script.error());
  }
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return fail(ErrorKind::kUsage, error.message(), folder);
  std::set<std::string> written;
  for (const Rule* rule : rules) {
    std::string name = fileName(rule->name);
    if (!written.insert(name).second) return fail(ErrorKind::kUsage, "two rules would have one file", name);
    auto script = scriptOf(set, *rule);
    if (!script) return tl::unexpected(script.error());
    if (auto ok = writeFile((std::filesystem::path(folder) / name).string(), *script); !ok) return ok;
  }
  return {};
}

}  // namespace pet::rules
