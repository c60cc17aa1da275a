#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/apply/next_step.h"
#include "tools/apply/reasons.h"
#include "tools/apply/report.h"

namespace pet::tool {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json orNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json firedJson(const ApplyReport& report) {
  Json fired = Json::array();
  for (const Fired& f : report.fired) {
    Json shapes = Json::object();
    for (const auto& [symbol, value] : f.shapes)
      shapes[symbol] = value.asConstant() ? Json(*value.asConstant()) : Json(value.str());
    fired.push_back({{"site", f.site},
                     {"rule", f.rule},
                     {"shapes", shapes},
                     {"numerics", f.numerics.str()},
                     {"values", f.values},
                     {"boxes", f.boxes},
                     {"gain", orNull(f.gain)},
                     {"margin", f.margin},
                     {"guessed", f.guessed}});
  }
  return fired;
}

Json refusalJson(const Refused& r) {
  return {{"site", r.site},
          {"pattern", r.pattern},
          {"rule", r.rule},
          {"kind", idOf(r.reason.kind)},
          {"reason", r.reason.detail},
          {"gain", orNull(r.reason.ratio)},
          {"option", optionOf(r.reason)}};
}

Json groupJson(const RefusalGroup& group, double minGain) {
  constexpr size_t kExamples = 3;
  std::set<std::string> sites, rules;
  size_t wouldFireWithIt = 0;
  for (const Refused* r : group.members) {
    sites.insert(r->site);
    rules.insert(r->rule.empty() ? r->pattern : r->rule);
    wouldFireWithIt += wouldFire(r->reason, minGain);
  }
  Json examples = Json::array();
  for (size_t i = 0; i < std::min(kExamples, group.members.size()); ++i)
    examples.push_back(refusalJson(*group.members[i]));
  return {{"kind", idOf(group.reason.kind)},
          {"says", sentenceOf(group.reason)},
          {"option", optionOf(group.reason)},
          {"would_fire", wouldFireWithIt},
          {"count", group.members.size()},
          {"sites", sites.size()},
          {"rules", rules.size()},
          {"examples", examples}};
}

const char* nameOf(RecordsChecked records) {
  switch (records) {
    case RecordsChecked::kNot:
      return "not-checked";
    case RecordsChecked::kNow:
      return "checked";
    case RecordsChecked::kWithTool:
      return "checked-with-default-pack";
  }
  return "";
}

Json expectedJson(const ApplyReport& r, const ApplyArguments& o) {
  const bool isKnown = r.runSeconds.has_value();
  return {
      {"device", o.device},      {"threads", o.threads},
      {"versions", r.versions},  {"seconds", isKnown ? Json(*r.runSeconds) : Json()},
      {"saved", r.savedSeconds}, {"ratio", isKnown ? Json(*r.runSeconds / (*r.runSeconds - r.savedSeconds)) : Json()}};
}

Json untunedJson(const UntunedTimed& u) {
  return {{"points", u.points}, {"timed", u.timed}, {"file", u.file}, {"problem", u.problem}};
}

}  // namespace

std::string jsonOf(const ApplyReport& r, const ApplyArguments& o) {
  Json refused = Json::array(), refusals = Json::array(), checks = Json::array(), measured = Json::array(),
       untouched = Json::array();
  for (const RefusalGroup& group : grouped(r.refused, o.minGain))
    refused.push_back(groupJson(group, o.minGain));
  for (const Refused& x : r.refused)
    refusals.push_back(refusalJson(x));
  for (const Untouched& u : r.untouched)
    untouched.push_back({{"node", u.node}, {"operator", u.type}, {"reason", u.reason}});
  for (const CheckLine& c : r.checks) {
    checks.push_back(
        {{"where", c.where}, {"scope", c.scope}, {"possible", c.possible}, {"reason", c.reason}, {"worst", c.worst}});
  }
  for (const Measured& m : r.measured)
    measured.push_back({{"what", m.what}, {"ratio", m.ratio}, {"p10", m.p10}, {"p90", m.p90}, {"pays", m.pays}});
  Json all = {{"metadata", r.metadata},
              {"fired", firedJson(r)},
              {"left_out", r.leftOut},
              {"expected", expectedJson(r, o)},
              {"machine", {{"name", r.machine.name()}, {"says", r.machine.str()}, {"timed", r.isMachineTimed}}},
              {"tuned", r.isDeviceTuned},
              {"matched", r.matched},
              {"refused", refused}};
  if (o.verbose) all["refusals"] = refusals;
  all["next"] = r.fired.empty() ? nextStep(r, o).commands : std::vector<std::string>();
  all["warnings"] = r.warnings;
  all["untouched"] = untouched;
  all["checks"] = checks;
  all["proofs"] = nameOf(r.records);
  all["measured"] = measured;
  all["untuned"] = r.untuned ? untunedJson(*r.untuned) : Json();
  all["sizes"] = r.sizes;
  all["written"] = r.written;
  all["rounds"] = r.rounds;
  all["seconds"] = {{"rewrite", r.rewriteSeconds}, {"check", r.checkSeconds}, {"all", r.seconds}};
  all["nodes"] = {r.nodesBefore, r.nodesAfter};
  all["constant_bytes"] = {r.constantsBefore, r.constantsAfter};
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace pet::tool
