#include "tools/bench/watch.h"

#include <chrono>

#include <fmt/format.h>

#include "tools/common/cuda_device.h"

namespace pet::bench {
namespace {

using Clock = std::chrono::steady_clock;

Expected<void> store(const Model& model, const std::filesystem::path& path) {
  auto bytes = serialize(model);
  if (!bytes) return tl::unexpected(bytes.error());
  return writeModel(*bytes, path.string());
}

void add(std::string& note, const std::string& more) {
  if (note.find(more) == std::string::npos) note += (note.empty() ? "" : "; ") + more;
}

}  // namespace

RunnerExpected<Figures> Watch::files(const std::string& original, const std::string& rewritten, double seconds) {
  TimeRequest request{.models = {original, original},
                      .runs = o_.runs,
                      .threads = o_.threads,
                      .budgetSeconds = seconds,
                      .cold = o_.cold};
  if (!rewritten.empty()) request.models.push_back(rewritten);
  return runner_.time(request).map(figuresOf);
}

/// Nothing, with a note in the row, where this cannot be timed.
Expected<std::optional<Figures>> Watch::cut(const Sites& sites, SiteRow& row, bool inContext, double seconds) {
  auto models = sites.cut(row.change, inContext);
  if (!models) {
    add(row.note, models.error().message());
    return std::nullopt;
  }
  std::string stem = (folder_.path() / fmt::format("{}{}", count_, inContext ? "" : ".bare")).string();
  std::string before = stem + ".original.onnx", after = stem + ".rewritten.onnx";
  for (const auto& [model, path] : {std::pair{&models->first, before}, {&models->second, after}}) {
    if (auto ok = store(*model, path); !ok) return tl::unexpected(ok.error());
  }
  auto figures = files(before, after, seconds);
  std::error_code ignored;
  for (const std::string& path : {before, after}) {
    if (o_.keep.empty()) std::filesystem::remove(path, ignored);
  }
  if (!figures) {
    add(row.note, figures.error().message);
    return std::nullopt;
  }
  if (figures->difference > tool::largestRounding(o_.runner.device))
    add(row.note, fmt::format("outputs differ by {:.1e} of the largest", figures->difference));
  return *figures;
}

Expected<SiteRow> Watch::site(const Sites& sites, const Change& change, double seconds) {
  SiteRow row{.change = change, .name = sites.nameOf(change), .nodes = sites.nodesOf(change)};
  if (change.sites.size() > 1) add(row.note, fmt::format("{} sites, joined", change.sites.size()));
  ++count_;
  const bool both = sites.hasContext(change);
  const auto begin = Clock::now();
  if (both) {
    auto context = cut(sites, row, true, seconds * 2 / 3);
    if (!context) return tl::unexpected(context.error());
    row.context = std::move(*context);
  }
  const double left = seconds - std::chrono::duration<double>(Clock::now() - begin).count();
  if (both && left <= 0) return row;  // the least number of rounds took longer than its share
  auto bare = cut(sites, row, false, left);
  if (!bare) return tl::unexpected(bare.error());
  row.bare = std::move(*bare);
  return row;
}

}  // namespace pet::bench
