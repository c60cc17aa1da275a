#include "tools/tune/subgraph.h"

#include <algorithm>

#include <fmt/format.h>

#include "applier/clean/simplify.h"
#include "applier/match/find_sites.h"
#include "applier/measure/layout_ends.h"
#include "applier/measure/scene.h"
#include "applier/onnx/model.h"
#include "applier/operators/onnx_rows.h"
#include "applier/read/normalise.h"
#include "applier/replace/splice.h"
#include "applier/write/emit.h"
#include "ir/layout_algebra.h"
#include "rules/rewrite/bind.h"

namespace pet::tune {
namespace {

struct Rewritten {
  Model model;
  Program replacement;
};

/// The model with the rule applied at the site, by the steps of pet-apply.
Expected<Rewritten> rewrite(const Model& model, const Job& job) {
  Normalised normalised = normalise(model.graph);
  const View& view = normalised.view;
  std::vector<Refusal> refusals;
  for (const Site& site : match(MatchIndex(model.graph, view, normalised.sizes), *job.pattern, refusals)) {
    auto name = view.names.find(site.outputs[0]);
    if (name == view.names.end() || name->second != kSceneSite) continue;
    auto made = instantiate(site, *job.rule, rewrite::symbolsOf(job.symbols), kSceneSite);
    if (!made) return tl::unexpected(made.error());
    if (auto why = whyNotEmitted(made->replacement, model.graph.opset)) return fail(ErrorKind::kUnsupported, *why);
    auto graph = emit(model.graph, view, simplify(splice(view, {*made})));
    if (!graph) return tl::unexpected(graph.error());
    return Rewritten{{std::move(*graph), model.file}, std::move(made->replacement)};
  }
  return fail(ErrorKind::kUnsupported,
              "the pattern does not match: " + (refusals.empty() ? "" : refusals[0].reason.detail));
}

Expected<std::string> store(const Model& model, const std::filesystem::path& path) {
  auto bytes = serialize(model);
  if (!bytes) return tl::unexpected(bytes.error());
  if (auto ok = writeModel(*bytes, path.string()); !ok) return tl::unexpected(ok.error());
  return path.string();
}

/// The models of those chains that cost something.
Expected<std::vector<std::string>> storeChains(const Program& replacement,
                                               const std::vector<std::vector<int>>& chains,
                                               int opset,
                                               const std::string& stem) {
  std::vector<std::string> paths;
  for (const auto& nodes : chains) {
    bool free = std::all_of(nodes.begin(), nodes.end(),
                            [&](int node) { return movesNothing(replacement.nodes()[static_cast<size_t>(node)]); });
    if (free) continue;
    Program chain = layoutChain(replacement, nodes);
    auto model = sceneOf(chain, std::nullopt, opset);
    if (!model) return tl::unexpected(model.error());
    auto path = store(*model, fmt::format("{}-{}.onnx", stem, paths.size() + 1));
    if (!path) return tl::unexpected(path.error());
    paths.push_back(*path);
  }
  return paths;
}

}  // namespace

Expected<Subgraphs> modelsOf(const Job& job, bool neighbours, const std::filesystem::path& stem) {
  auto pattern = job.pattern->program.substitute(exprsOf(job.shapes));
  if (!pattern) return tl::unexpected(pattern.error());
  auto before = sceneOf(*pattern, neighbours ? std::optional(job.beside) : std::nullopt, job.opset);
  if (!before) return tl::unexpected(before.error());
  auto after = rewrite(*before, job);
  if (!after) return tl::unexpected(after.error());
  LayoutEnds ends = layoutEnds(after->replacement);
  auto first = store(*before, stem.string() + ".pattern.onnx"),
       second = store(after->model, stem.string() + ".replacement.onnx");
  auto openings = storeChains(after->replacement, ends.openings, job.opset, stem.string() + ".opening"),
       closings = storeChains(after->replacement, ends.closings, job.opset, stem.string() + ".closing");
  if (!first) return tl::unexpected(first.error());
  if (!second) return tl::unexpected(second.error());
  if (!openings) return tl::unexpected(openings.error());
  if (!closings) return tl::unexpected(closings.error());
  return Subgraphs{*first, *second, std::move(*openings), std::move(*closings)};
}

}  // namespace pet::tune
