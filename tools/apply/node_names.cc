#include "tools/apply/node_names.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "applier/choose/policy.h"
#include "ir/shell.h"
#include "ir/suggest.h"
#include "tools/apply/command.h"

namespace pet::tool {
namespace {

/// Calls within calls can be very many.
constexpr size_t kMostNames = 1'000'000;

class Names {
 public:
  void enter(const Graph& graph, const std::string& path) {
    for (const GraphNode& n : graph.nodes) {
      if (all.size() >= kMostNames) return;
      const std::string name = path + nameOf(n);
      all.push_back({name, n.type});
      forEachSubgraph(n, [&](const std::string& attribute, const Subgraph& inner) {
        enter(*inner, fmt::format("{}/{}/", name, attribute));
      });
      if (!n.callee) continue;
      const Function& f = *n.callee;
      enter(f.body, name + "/");
      if (functions_.insert(&f).second) enter(f.body, (f.domain.empty() ? "" : f.domain + ".") + f.name + "/");
    }
  }
  std::vector<NodeName> all;

 private:
  std::set<const Function*> functions_;
};

/// "did you mean 'conv/pair'? pet-apply model.onnx --only conv/pair"
std::string insteadOf(const ApplyArguments& o,
                      const std::string& option,
                      std::vector<std::string> globs,
                      const std::string& wrong,
                      const std::string& meant) {
  std::replace(globs.begin(), globs.end(), wrong, meant);
  const std::string words = shellWord(fmt::format("{}", fmt::join(globs, ",")));
  return fmt::format("did you mean '{}'? {}", meant, againWith(o, option + " " + words));
}

}  // namespace

std::vector<NodeName> nodeNames(const Graph& graph) {
  Names names;
  names.enter(graph, "");
  return std::move(names.all);
}

Expected<void> checkGlobs(const ApplyArguments& o,
                          const std::string& option,
                          const std::vector<std::string>& globs,
                          const std::vector<std::string>& names,
                          std::string_view what) {
  for (const std::string& glob : globs) {
    if (std::any_of(names.begin(), names.end(), [&](const std::string& n) { return matchesGlob(n, glob); })) continue;
    std::string advice = names.empty() ? "" : fmt::format("one is called '{}'", names[0]);
    if (auto meant = nearest(glob, names)) advice = insteadOf(o, option, globs, glob, *meant);
    return fail(ErrorKind::kUsage, fmt::format("{} {}: {} of that name", option, glob, what), "", advice);
  }
  return {};
}

}  // namespace pet::tool
