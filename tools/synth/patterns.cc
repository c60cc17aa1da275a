#include "tools/synth/patterns.h"

#include <algorithm>
#include <filesystem>

#include "rules/pack/file.h"
#include "rules/text.h"
#include "tools/common/share.h"
#include "tools/common/tool.h"

namespace pet::tool {
Expected<std::vector<Pattern>> readPatterns(std::vector<std::string> files, std::string folder) {
  std::string first = files.empty() ? "" : files.front();
  if (files.empty()) {
    if (folder.empty()) {
      auto canonical = shareFile("patterns");
      if (!canonical) return tl::unexpected(canonical.error());
      folder = std::move(*canonical);
    }
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
      if (entry.path().extension() == ".pet") files.push_back(entry.path().string());
    }
    if (error)
      return fail(ErrorKind::kUsage, "cannot read the patterns: " + error.message(), folder,
                  "name a folder with --patterns");
    std::sort(files.begin(), files.end());
  }
  std::vector<Pattern> patterns;
  for (const std::string& file : files) {
    auto text = readFile(file, ErrorKind::kText);
    if (!text) return tl::unexpected(text.error());
    auto parsed = parseRules(*text, file);
    if (!parsed) return tl::unexpected(badText(parsed.error()));
    std::move(parsed->patterns.begin(), parsed->patterns.end(), std::back_inserter(patterns));
  }
  if (patterns.empty()) {
    return fail(ErrorKind::kUsage, "no patterns", first.empty() ? folder : first,
                "name pattern files or a folder with --patterns");
  }
  std::sort(patterns.begin(), patterns.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  for (size_t i = 1; i < patterns.size(); ++i) {
    if (patterns[i].name == patterns[i - 1].name)
      return fail(ErrorKind::kUsage, "two patterns are named " + patterns[i].name);
  }
  return patterns;
}

}  // namespace pet::tool
