#include "tools/tune/cliffs/cliffs.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "applier/read/normalise.h"
#include "rules/pack/file.h"
#include "tools/common/status_line.h"
#include "tools/common/tool.h"
#include "tools/tune/cliffs/listing.h"

namespace pet::tune {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLongestName = 48;

/// Refused before minutes are spent.
Expected<void> checkOutputs(const Options& o) {
  if (!o.json.empty() && o.json != "-") {
    PET_TRY(tool::distinctFiles({o.json}, o.cliffs));
    PET_TRY(checkWritable(o.json));
  }
  if (o.write.empty()) return {};
  std::error_code error;
  fs::create_directories(o.write, error);
  if (error) return fail(ErrorKind::kUsage, "cannot make the folder: " + error.message(), o.write);
  return {};
}

Expected<std::vector<Subject>> readAll(const std::vector<std::string>& paths, bool quiet) {
  tool::Progress progress("reading", paths.size(), quiet);
  std::vector<Subject> models;
  for (const std::string& path : paths) {
    progress.step(path);
    auto model = Subject::read(path);
    if (!model) return tl::unexpected(model.error());
    models.push_back(std::move(*model));
  }
  return models;
}

/// "mul-reducesum", of the candidate's operators.
std::string fileName(const Candidate& c) {
  std::string name;
  for (const std::string& op : c.operators)
    name += (name.empty() ? "" : "-") + op.substr(0, op.find('('));
  for (char& letter : name)
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return name.substr(0, kLongestName);
}

/// Writes the cliff as a model of its own: into the folder, where it is a source of patterns, else into unknown/.
Expected<ListedCliff> write(const std::vector<Subject>& models,
                            const Candidates& candidates,
                            const Cliff& cliff,
                            size_t number,
                            const Options& o) {
  const Candidate& c = candidates.all[cliff.candidate];
  const Occurrence& first = c.occurrences[0];
  auto model = models[first.model].cut(first.nodes);
  if (!model) return tl::unexpected(model.error());
  const bool isKnown = !normalise(model->graph).view.program.outputs().empty();
  const fs::path folder = isKnown ? fs::path(o.write) : fs::path(o.write) / "unknown";
  std::error_code error;
  fs::create_directories(folder, error);
  const std::string file = (folder / fmt::format("{:02}-{}.onnx", number, fileName(c))).string();
  auto bytes = serialize(*model);
  if (!bytes) return tl::unexpected(bytes.error());
  PET_TRY(writeFile(file, *bytes));
  return ListedCliff{cliff, file, isKnown};
}

Expected<std::vector<ListedCliff>> writeAll(const std::vector<Subject>& models,
                                            const Candidates& candidates,
                                            const std::vector<Cliff>& cliffs,
                                            const Options& o) {
  std::vector<ListedCliff> listed;
  for (const Cliff& cliff : cliffs) {
    auto one = o.write.empty() ? Expected<ListedCliff>(ListedCliff{cliff, "", true})
                               : write(models, candidates, cliff, listed.size() + 1, o);
    if (!one) return tl::unexpected(one.error());
    listed.push_back(std::move(*one));
  }
  return listed;
}

Expected<void> print(const CliffReport& report, const Options& o) {
  if (o.json == "-") return tool::print(json(report, o));
  if (!o.quiet) PET_TRY(tool::print(text(report, o)));
  return o.json.empty() ? Expected<void>() : writeFile(o.json, json(report, o));
}

}  // namespace

Expected<void> findCliffs(const Options& o, std::vector<std::string> runner) {
  PET_TRY(checkOutputs(o));
  auto models = readAll(o.cliffs, o.quiet);
  if (!models) return tl::unexpected(models.error());
  const Candidates candidates = candidatesOf(*models, o.size);
  auto found = survey(*models, candidates, std::move(runner), o);
  if (!found) return tl::unexpected(found.error());
  auto listed = writeAll(*models, candidates, worst(candidates, *found, o.most, o.minTimes), o);
  if (!listed) return tl::unexpected(listed.error());
  PET_TRY(print({*models, candidates, *found, std::move(*listed)}, o));
  if (found->runnerFailure.empty()) return {};
  return fail(ErrorKind::kRunner, found->runnerFailure, "", "the rest was not timed");
}

}  // namespace pet::tune
