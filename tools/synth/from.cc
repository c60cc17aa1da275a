#include "tools/synth/from.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "applier/onnx/model.h"
#include "applier/read/normalise.h"
#include "rules/pack/file.h"
#include "rules/text.h"
#include "synth/mine/mine.h"

namespace pet::tool {
namespace {

/// New patterns that a screen holds.
constexpr size_t kListed = 15;

/// A folder stands for the models in it.
Expected<std::vector<std::string>> filesOf(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!std::filesystem::is_directory(path, error)) {
      files.push_back(path);
      continue;
    }
    const size_t before = files.size();
    for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
      if (entry.path().extension() == ".onnx") files.push_back(entry.path().string());
    }
    if (error) return fail(ErrorKind::kModel, "cannot read the folder: " + error.message(), path);
    if (files.size() == before) return fail(ErrorKind::kModel, "no .onnx file in this folder", path);
    std::sort(files.begin() + static_cast<std::ptrdiff_t>(before), files.end());
  }
  return files;
}

Expected<std::vector<Program>> readModels(const std::vector<std::string>& paths) {
  auto files = filesOf(paths);
  if (!files) return tl::unexpected(files.error());
  std::vector<Program> programs;
  for (const std::string& file : *files) {
    auto model = load(file);
    if (!model) return tl::unexpected(model.error());
    Normalised read = normalise(model->graph);
    if (read.view.program.outputs().empty())
      return fail(ErrorKind::kModel, "none of its operators is known to pet", file);
    if (read.sizes.samples().empty()) {
      return fail(ErrorKind::kModel, "it leaves sizes open, and none were found at which it runs", file,
                  "bind them (pet-apply --bind) first");
    }
    // A pattern's sizes are symbols of its own, whatever the model's are.
    auto view = boundTo(read.view, read.sizes.typical());
    if (!view) return tl::unexpected(view.error());
    programs.push_back(std::move(view->program));
  }
  return programs;
}

/// "conv-relu-5f00aa 12 times", with what is special about it.
std::string lineOf(const mine::Mined& m) {
  std::string text = fmt::format("  {:>5} {}", m.count, m.pattern.name);
  for (size_t i = 0; i < m.pinned.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? ", for " : ", ", m.pinned[i]);
  return text + "\n";
}

}  // namespace

Expected<FromModels> minePatterns(const FromArguments& a,
                                  const std::vector<Pattern>& known,
                                  const JudgeOptions& options,
                                  bool verbose,
                                  const ReportProgress& show) {
  show("reading the models", kUnknownShare);
  auto programs = readModels(a.models);
  if (!programs) return tl::unexpected(programs.error());
  mine::Mine found = mine::mine(*programs, known, {.operators = a.size},
                                [&](double share) { show("looking for patterns in the models", share); });
  FromModels result;
  FromCounts& n = result.counts;
  n = {.subgraphs = found.subgraphs,
       .distinct = found.distinct,
       .patterns = found.patterns.size(),
       .withoutPattern = found.failed.size()};
  std::set<std::string> names;
  std::string lines;
  double done = 0;
  for (mine::Mined& m : found.patterns) {
    show("looking at the patterns of the models", done++ / static_cast<double>(found.patterns.size()));
    if (!m.known.empty()) {
      ++n.known;
      names.insert(m.known);
    } else if (n.searched == a.most) {
      ++n.leftOut;
    } else if (!Search::create({m.pattern}, options)) {
      ++n.unsearched;
    } else {
      ++n.searched;
      if (n.searched <= kListed || verbose) lines += lineOf(m);
      result.patterns.push_back(std::move(m.pattern));
    }
  }
  result.report = fmt::format(
      "{} subgraphs of up to {} operators, {} distinct, {} patterns: {} known, {} without candidates, {} new\n",
      n.subgraphs, a.size, n.distinct, n.patterns, n.known, n.unsearched, n.searched + n.leftOut);
  if (n.known) result.report += fmt::format("known: {}\n", fmt::join(names, ", "));
  if (n.searched) result.report += "new, and how often they occur:\n" + lines;
  if (n.searched > kListed && !verbose)
    result.report += fmt::format("  and {} more (--verbose)\n", n.searched - kListed);
  if (n.leftOut) result.report += fmt::format("{} more are left out: --from-most is {}\n", n.leftOut, a.most);
  if (found.wide) result.report += fmt::format("{} subgraphs with too many inputs are left out\n", found.wide);
  for (const std::string& why : found.failed)
    result.report += fmt::format("no pattern of a subgraph: {}\n", why);
  if (!found.complete) result.report += "not all subgraphs were looked at\n";
  return result;
}

Expected<void> writePatterns(const std::vector<Pattern>& patterns, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return fail(ErrorKind::kUsage, "cannot make the folder: " + error.message(), folder);
  for (const Pattern& p : patterns) {
    auto file = std::filesystem::path(folder) / (p.name + ".pet");
    if (auto ok = writeFile(file.string(), print(p)); !ok) return ok;
  }
  return {};
}

}  // namespace pet::tool
