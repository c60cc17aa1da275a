#include "tools/apply/report.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "tools/common/table.h"

namespace pet::tool {
namespace {

using Json = nlohmann::ordered_json;

std::string firedText(const ApplyReport& report) {
  if (report.fired.empty()) return "No rule fired.\n";
  std::vector<std::vector<std::string>> rows{{"SITE", "RULE", "GAIN", "SHAPES"}};
  for (const Fired& f : report.fired) {
    rows.push_back({f.site, f.rule, f.gain ? fmt::format("{:.2f}", *f.gain) : "-", rewrite::str(f.shapes)});
  }
  return table(rows);
}

/// Refusals by reason, the most frequent first; each with --verbose.
std::string refusedText(const ApplyReport& report, bool verbose) {
  if (report.refused.empty()) return "";
  std::vector<std::vector<std::string>> rows;
  if (verbose) {
    rows.push_back({"SITE", "RULE", "REFUSED BECAUSE"});
    for (const Refused& r : report.refused)
      rows.push_back({r.site, r.rule.empty() ? r.pattern + ", any rule" : r.rule, r.reason});
    return "\n" + table(rows);
  }
  std::map<std::string, std::pair<int, std::set<std::string>>> byReason;
  for (const Refused& r : report.refused) {
    auto& [count, rules] = byReason[r.reason];
    ++count;
    rules.insert(r.rule.empty() ? r.pattern : r.rule);
  }
  std::vector<std::pair<int, std::string>> order;
  for (const auto& [reason, entry] : byReason)
    order.emplace_back(-entry.first, reason);
  std::sort(order.begin(), order.end());
  rows.push_back({"REFUSED", "RULES", "BECAUSE"});
  constexpr size_t kShown = 12;
  for (size_t i = 0; i < std::min(order.size(), kShown); ++i) {
    const auto& rules = byReason[order[i].second].second;
    rows.push_back({std::to_string(-order[i].first), rules.size() == 1 ? *rules.begin() : std::to_string(rules.size()),
                    order[i].second});
  }
  std::string more =
      order.size() > kShown ? fmt::format("and {} more reasons (--verbose)\n", order.size() - kShown) : "";
  return "\n" + table(rows) + more;
}

/// Nodes that were not looked into, by operator, the most frequent first; each, and why, with --verbose.
std::string untouchedText(const ApplyReport& report, bool verbose) {
  if (report.untouched.empty()) return "";
  if (verbose) {
    std::vector<std::vector<std::string>> rows{{"UNTOUCHED", "OPERATOR", "BECAUSE"}};
    for (const Untouched& u : report.untouched)
      rows.push_back({u.node, u.type, u.reason});
    return "\n" + table(rows);
  }
  std::map<std::string, int> byType;
  for (const Untouched& u : report.untouched)
    ++byType[u.type];
  std::vector<std::pair<int, std::string>> order;
  for (const auto& [type, count] : byType)
    order.emplace_back(-count, type);
  std::sort(order.begin(), order.end());
  std::vector<std::string> parts;
  for (const auto& [count, type] : order)
    parts.push_back(fmt::format("{} x{}", type, -count));
  constexpr size_t kShown = 6;
  if (parts.size() > kShown) {
    parts.resize(kShown);
    parts.push_back("...");
  }
  return fmt::format("\nNot looked into, and left as they are: {} of the nodes, {} (--verbose says why)\n",
                     report.untouched.size(), fmt::join(parts, ", "));
}

/// What was timed here, with --measure.
std::string measuredText(const ApplyReport& report) {
  if (report.measured.empty()) return "";
  std::vector<std::vector<std::string>> rows{{"TIMED HERE", "RATIO", "P10 - P90", ""}};
  for (const Measured& m : report.measured)
    rows.push_back({m.what, fmt::format("{:.2f}", m.ratio), fmt::format("{:.2f} - {:.2f}", m.p10, m.p90),
                    m.pays ? "pays" : "does not pay"});
  return "\n" + table(rows);
}

std::string checkText(const ApplyReport& report) {
  if (report.checks.empty()) return "";
  size_t done = 0;
  double worst = 0;
  std::string text;
  for (const CheckLine& c : report.checks) {
    done += c.possible;
    worst = std::max(worst, c.worst);
    if (!c.possible) text += fmt::format("Not compared: {}: {}\n", c.where, c.reason);
  }
  for (const UncheckedSite& site : report.unchecked)
    text += fmt::format("Checked only as part of the whole model: {}\n", site.label);
  return fmt::format("\n{}Checks: {} passed; the largest difference is {:.2f} of the allowed one.\n", text, done,
                     worst);
}

std::string summary(const ApplyReport& r, const ApplyArguments& o) {
  std::string text = "\n";
  if (r.overridable > 0) {
    text += fmt::format(
        "{} initializers are also graph inputs, so a caller may replace them: they count as constants only with "
        "--freeze-inputs\n",
        r.overridable);
  }
  if (!r.sizes.empty() && !r.fired.empty()) {
    std::vector<std::string> sizes;
    for (const Bindings& b : r.sizes)
      sizes.push_back(shapesText(b));
    text += fmt::format("The model leaves sizes open: the rules hold for all, gains were judged at {}\n",
                        fmt::join(sizes, "; "));
  }
  return text + fmt::format("{} sites rewritten, {} nodes to {}, constants {:+d} bytes{}\n", r.fired.size(),
                            r.nodesBefore, r.nodesAfter, r.constantsAfter - r.constantsBefore,
                            o.dryRun ? " (dry run, nothing written, no record checked)" : "; written to " + o.output);
}

}  // namespace

std::string textOf(const ApplyReport& report, const ApplyArguments& o) {
  return firedText(report) + refusedText(report, o.verbose) + untouchedText(report, o.verbose) + measuredText(report) +
         checkText(report) + summary(report, o);
}

std::string jsonOf(const ApplyReport& r) {
  Json fired = Json::array(), refused = Json::array(), checks = Json::array(), measured = Json::array(),
       untouched = Json::array();
  for (const Fired& f : r.fired) {
    Json shapes = Json::object();
    for (const auto& [symbol, value] : f.shapes)
      shapes[symbol] = value.asConstant() ? Json(*value.asConstant()) : Json(value.str());
    fired.push_back({{"site", f.site},
                     {"rule", f.rule},
                     {"shapes", shapes},
                     {"numerics", f.numerics.str()},
                     {"boxes", f.boxes},
                     {"gain", f.gain ? Json(*f.gain) : Json()}});
  }
  for (const Refused& x : r.refused)
    refused.push_back({{"site", x.site}, {"pattern", x.pattern}, {"rule", x.rule}, {"reason", x.reason}});
  for (const Untouched& u : r.untouched)
    untouched.push_back({{"node", u.node}, {"operator", u.type}, {"reason", u.reason}});
  for (const CheckLine& c : r.checks) {
    checks.push_back(
        {{"where", c.where}, {"scope", c.scope}, {"possible", c.possible}, {"reason", c.reason}, {"worst", c.worst}});
  }
  for (const Measured& m : r.measured)
    measured.push_back({{"what", m.what}, {"ratio", m.ratio}, {"p10", m.p10}, {"p90", m.p90}, {"pays", m.pays}});
  const Json all = {{"fired", fired},
                    {"refused", refused},
                    {"untouched", untouched},
                    {"checks", checks},
                    {"measured", measured},
                    {"sizes", r.sizes},
                    {"rounds", r.rounds},
                    {"seconds", {{"rewrite", r.rewriteSeconds}, {"check", r.checkSeconds}}},
                    {"nodes", {r.nodesBefore, r.nodesAfter}},
                    {"constant_bytes", {r.constantsBefore, r.constantsAfter}}};
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace pet::tool
