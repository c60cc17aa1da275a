#include "tools/apply/page/page.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/apply/page/drawn_graph.h"
#include "tools/apply/page/page_files.h"
#include "tools/apply/reasons.h"

namespace pet::tool {
namespace {

using Json = nlohmann::ordered_json;

/// Of all graphs on a page; some 300 bytes each, before and after.
constexpr size_t kMostDrawn = 2500;
/// Rows of a table.
constexpr size_t kMostRows = 200;

/// A graph of the model that is shown, before and after.
struct ShownPlace {
  const Place& before;
  const Place& after;
  Changes changes;
};

ChangeOfNode changeOfNodes(const Changes& changes, bool isAfter) {
  ChangeOfNode result;
  for (size_t c = 0; c < changes.changes.size(); ++c) {
    const Change& change = changes.changes[c];
    for (int node : isAfter ? change.after : change.before)
      result.emplace(node, static_cast<int>(c));
  }
  return result;
}

Json jsonOf(const DrawnGraph& graph) {
  Json nodes = Json::array();
  for (const DrawnNode& n : graph.nodes) {
    nodes.push_back({{"operator", n.operatorName},
                     {"name", n.name},
                     {"extents", n.extents},
                     {"operands", n.operands},
                     {"change", n.change},
                     {"end", n.isEnd}});
  }
  return {{"nodes", nodes}, {"hidden", graph.hidden}};
}

/// The main graph, and those others in which something changed.
std::vector<ShownPlace> shownPlaces(const std::map<std::string, Place>& before,
                                    const std::map<std::string, Place>& after) {
  std::vector<ShownPlace> shown;
  for (const auto& [key, place] : before) {
    auto other = after.find(key);
    if (other == after.end()) continue;
    Changes changes = changesOf(place.graph, other->second.graph);
    if (key.empty() || !changes.changes.empty()) shown.push_back({place, other->second, std::move(changes)});
  }
  return shown;
}

Json jsonOf(const ShownPlace& place, size_t most) {
  return {{"path", place.before.path},
          {"before", jsonOf(drawnGraph(place.before, changeOfNodes(place.changes, false), most))},
          {"after", jsonOf(drawnGraph(place.after, changeOfNodes(place.changes, true), most))}};
}

/// Where a site is drawn: the graph and the change, -1 where it is not.
std::pair<int, int> findSite(const std::string& site, const std::vector<ShownPlace>& places) {
  for (size_t i = places.size(); i-- > 0;) {
    const std::string& path = places[i].before.path;
    if (!site.starts_with(path)) continue;
    const std::string_view name = std::string_view(site).substr(path.size());
    const int change = changeOfSite(name, places[i].before.graph, places[i].changes);
    if (change >= 0) return {static_cast<int>(i), change};
  }
  return {-1, -1};
}

Json boxesOf(const Fired& fired) {
  Json boxes = Json::array();
  for (const PositionBox& box : fired.corrected) {
    Json ranges = Json::array();
    for (const PositionRange& r : box)
      ranges.push_back({r.lower, r.upper, r.step});
    boxes.push_back(ranges);
  }
  return boxes;
}

Json sitesOf(const PageContent& content, const std::vector<ShownPlace>& places) {
  Json sites = Json::array();
  for (const Fired& f : content.report.fired) {
    const auto [place, change] = findSite(f.site, places);
    Json shapes = Json::object();
    for (const auto& [symbol, value] : f.shapes)
      shapes[symbol] = value.str();
    auto statement = content.statements.find(f.rule);
    sites.push_back({{"site", f.site},
                     {"rule", f.rule},
                     {"gain", f.gain ? Json(*f.gain) : Json()},
                     {"shapes", shapes},
                     {"numerics", f.numerics.str()},
                     {"values", f.values},
                     {"proof", content.proof},
                     {"output", f.output},
                     {"boxes", boxesOf(f)},
                     {"statement", statement == content.statements.end() ? "" : statement->second},
                     {"place", place},
                     {"change", change}});
  }
  return sites;
}

Json refusedOf(const PageContent& content) {
  Json rows = Json::array();
  for (const RefusalGroup& group : grouped(content.report.refused, content.minGain)) {
    const Refused& first = *group.members[0];
    rows.push_back({{"count", group.members.size()},
                    {"reason", sentenceOf(group.reason)},
                    {"option", optionOf(group.reason)},
                    {"example", fmt::format("{} at {}", first.rule.empty() ? first.pattern : first.rule, first.site)}});
  }
  return rows;
}

/// By operator and reason, the most frequent first.
Json untouchedOf(const ApplyReport& report) {
  std::map<std::pair<std::string, std::string>, size_t> counts;
  for (const Untouched& u : report.untouched)
    ++counts[{u.type, u.reason}];
  std::vector<std::pair<std::pair<std::string, std::string>, size_t>> order(counts.begin(), counts.end());
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  order.resize(std::min(order.size(), kMostRows));
  Json rows = Json::array();
  for (const auto& [what, count] : order)
    rows.push_back({{"count", count}, {"operator", what.first}, {"reason", what.second}});
  return rows;
}

Json checksOf(const ApplyReport& report) {
  Json rows = Json::array();
  for (const CheckLine& c : report.checks) {
    if (rows.size() == kMostRows) break;
    rows.push_back(
        {{"where", c.where}, {"scope", c.scope}, {"possible", c.possible}, {"reason", c.reason}, {"worst", c.worst}});
  }
  return rows;
}

Json figuresOf(const ApplyReport& report) {
  const auto bytes = report.constantsAfter - report.constantsBefore;
  return Json::array({{std::to_string(report.fired.size()), "sites rewritten"},
                      {fmt::format("{} to {}", report.nodesBefore, report.nodesAfter), "nodes"},
                      {fmt::format("{:+d}", bytes), "bytes of weights"},
                      {fmt::format("{:.2f} s", report.rewriteSeconds), "rewriting"},
                      {fmt::format("{:.2f} s", report.checkSeconds), "checking"}});
}

/// Replaces what stands once in a text.
void put(std::string& text, std::string_view mark, std::string_view by) {
  const size_t at = text.find(mark);
  if (at != std::string::npos) text.replace(at, mark.size(), by);
}

/// JSON that may stand within a script element: no text in it ends the element or opens a comment.
std::string embedded(const Json& json) {
  std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  for (size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at))
    text.replace(at, 1, "\\u003c");
  return text;
}

Json dataOf(const PageContent& content) {
  const InferOptions how{.freezeInputs = content.freezeInputs};
  const Inference inferredBefore = infer(content.before, how), inferredAfter = infer(content.after, how);
  const auto before = placesOf(content.before, inferredBefore), after = placesOf(content.after, inferredAfter);
  const auto shown = shownPlaces(before, after);
  Json places = Json::array();
  for (const ShownPlace& place : shown)
    places.push_back(jsonOf(place, kMostDrawn / shown.size()));
  return {{"title", content.title},
          {"headline", content.headline},
          {"figures", figuresOf(content.report)},
          {"places", places},
          {"sites", sitesOf(content, shown)},
          {"refused", refusedOf(content)},
          {"untouched", untouchedOf(content.report)},
          {"checks", checksOf(content.report)},
          {"run", content.run}};
}

}  // namespace

std::string pageOf(const PageContent& content) {
  std::string page(kPageHtml);
  put(page, "/* page.css */", kPageCss);
  put(page, "/* page.js */", kPageJs);
  put(page, "/* data */", embedded(dataOf(content)));
  return page;
}

std::string pageData(const PageContent& content) {
  return dataOf(content).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace pet::tool
