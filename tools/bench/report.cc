#include "tools/bench/report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/common/table.h"

namespace pet::bench {
namespace {

using Json = nlohmann::ordered_json;

std::string milliseconds(const Times& t) {
  return fmt::format("{:.3f} ({:.3f} - {:.3f})", 1e3 * t.median, 1e3 * t.p10, 1e3 * t.p90);
}

std::string pairs(const Ratio& r) {
  return fmt::format("{:.3f} ({:.3f} - {:.3f})", r.paired, r.p10, r.p90);
}

Json jsonOf(const Times& t) {
  return {{"median", t.median}, {"p10", t.p10}, {"p90", t.p90}, {"samples", t.samples}};
}

Json jsonOf(const Ratio& r) {
  return {{"of_medians", r.ofMedians}, {"paired", r.paired}, {"p10", r.p10}, {"p90", r.p90}};
}

Json jsonOf(const Figures& f) {
  Json json{{"original", jsonOf(f.original)}, {"control", jsonOf(f.control)}};
  if (!f.rewritten) return json;
  json["rewritten"] = jsonOf(*f.rewritten);
  json["ratio"] = jsonOf(f.ratio);
  json["relative_error"] = f.difference;
  return json;
}

Json jsonOf(const SiteRow& row) {
  auto maybe = [](const std::optional<Figures>& f) { return f ? jsonOf(*f) : Json(nullptr); };
  return {{"nodes", row.nodes},        {"sites", row.change.sites},
          {"rules", row.change.rules}, {"context", maybe(row.context)},
          {"bare", maybe(row.bare)},   {"note", row.note}};
}

std::vector<std::string> lineOf(const SiteRow& row) {
  std::vector<std::string> line{row.name, row.change.rules.empty() ? "-" : brief(row.change.rules)};
  const auto& f = row.figures();
  if (f && f->rewritten) {
    line.insert(
        line.end(),
        {fmt::format("{:.3f}", 1e3 * f->original.median), fmt::format("{:.3f}", 1e3 * f->rewritten->median),
         fmt::format("{:.3f}", f->ratio.ofMedians), pairs(f->ratio), fmt::format("{:.3f}", f->control.ofMedians)});
  } else {
    line.insert(line.end(), 5, "-");
  }
  line.push_back(row.bare && row.context ? fmt::format("{:.3f}", row.bare->ratio.ofMedians) : "-");
  line.push_back(row.note);
  return line;
}

}  // namespace

std::string headline(const RunnerHello& e, const Options& o) {
  return fmt::format("{} {} on {} ({}), {} thread(s), {}\n", e.engine, e.version, e.machine.cpu, e.machine.isa,
                     o.threads, o.cold ? "caches overwritten before each run" : "caches as they are");
}

std::string wholeTable(const Figures& f) {
  std::vector<std::vector<std::string>> lines{
      {"WHOLE MODEL", "MS (P10 - P90)", "RATIO", "OF PAIRS (P10 - P90)", "ERROR"}};
  lines.push_back({"original", milliseconds(f.original), "1", "-", "-"});
  lines.push_back({"A/A control", "-", fmt::format("{:.3f}", f.control.ofMedians), pairs(f.control), "-"});
  if (f.rewritten) {
    lines.push_back({"rewritten", milliseconds(*f.rewritten), fmt::format("{:.3f}", f.ratio.ofMedians), pairs(f.ratio),
                     fmt::format("{:.1e}", f.difference)});
  }
  return tool::table(lines);
}

std::string siteTable(const std::vector<SiteRow>& sites) {
  if (sites.empty()) return "No site differs.\n";
  std::vector<std::vector<std::string>> lines{
      {"SITE", "RULES", "MS BEFORE", "MS AFTER", "RATIO", "OF PAIRS (P10 - P90)", "A/A", "ALONE", "NOTE"}};
  for (const SiteRow& row : sites)
    lines.push_back(lineOf(row));
  return tool::table(lines);
}

std::string json(const Report& report, const Options& o) {
  Json json{{"engine", report.engine.engine},
            {"version", report.engine.version},
            {"device", o.runner.device},
            {"isa", report.engine.machine.isa},
            {"cpu", report.engine.machine.cpu},
            {"threads", o.threads},
            {"cold", o.cold},
            {"model", o.model}};
  if (!o.rewritten.empty()) json["rewritten"] = o.rewritten;
  json["whole"] = jsonOf(report.whole);
  if (o.perSite && !o.rewritten.empty()) {
    json["sites"] = Json::array();
    for (const SiteRow& row : report.sites)
      json["sites"].push_back(jsonOf(row));
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace pet::bench
