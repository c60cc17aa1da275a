#include "synth/scale/outcomes.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "rules/pack/digest.h"
#include "rules/pack/json.h"

namespace pet {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kMagic = "pet outcomes 2\n";
constexpr size_t kDigest = 16;  ///< hexadecimal digits in front of each line

/// "DIGEST PAYLOAD\n". A payload holds no line end.
std::string line(const std::string& payload) {
  return Digest().add("pet outcomes 2").add(payload).hex().substr(0, kDigest) + " " + payload + "\n";
}

/// The payload of a line without its end; nullopt if the line is not what was written.
std::optional<std::string_view> payloadOf(std::string_view text) {
  if (text.size() <= kDigest || text[kDigest] != ' ') return std::nullopt;
  std::string_view payload = text.substr(kDigest + 1);
  if (Digest().add("pet outcomes 2").add(payload).hex().substr(0, kDigest) != text.substr(0, kDigest))
    return std::nullopt;
  return payload;
}

Json toJson(const CandidateOutcome& c, bool times) {
  Json j = {{"name", c.name}};
  if (const Drop* drop = c.drop()) {
    j["dropped"] = dropName(drop->reason);
    if (!drop->detail.empty()) j["detail"] = drop->detail;
  } else {
    j["rule"] = *c.rule();
  }
  const StageTimes& t = c.seconds;
  if (times) j["seconds"] = {t.build, t.filter, t.prove, t.correct, t.check};
  return j;
}

std::string printOutcome(const UnitOutcome& outcome, bool times) {
  Json candidates = Json::array();
  for (const CandidateOutcome& c : outcome.candidates)
    candidates.push_back(toJson(c, times));
  return Json{{"unit", outcome.unit},
              {"pattern", outcome.pattern},
              {"source", sourceName(outcome.source)},
              {"candidates", std::move(candidates)}}
      .dump();
}

/// Throws what the library throws at a value of another kind.
CandidateOutcome toCandidate(const Json& j) {
  CandidateOutcome c{.name = j.at("name"), .verdict = std::string(), .seconds = {}};
  if (j.contains("rule")) {
    c.verdict = j.at("rule").get<std::string>();
  } else {
    auto reason = dropOf(j.at("dropped").get<std::string>());
    if (!reason) throw std::invalid_argument("unknown reason to drop a candidate");
    c.verdict = Drop{*reason, j.value("detail", "")};
  }
  if (j.contains("seconds")) {
    const Json& t = j.at("seconds");
    c.seconds = {t.at(0), t.at(1), t.at(2), t.at(3), t.at(4)};
  }
  return c;
}

UnitOutcome toOutcome(const Json& j) {
  auto source = sourceOf(j.at("source").get<std::string>());
  if (!source) throw std::invalid_argument("unknown source");
  UnitOutcome outcome{integer<size_t>(j.at("unit")), j.at("pattern"), *source, {}};
  for (const Json& c : j.at("candidates"))
    outcome.candidates.push_back(toCandidate(c));
  return outcome;
}

void readHead(const Json& j, Outcomes& o) {
  o.id = {.code = j.at("code"),
          .poly = j.at("poly"),
          .patterns = j.at("patterns"),
          .depth = integer<int>(j.at("depth")),
          .operations = integer<decltype(o.id.operations)>(j.at("operations")),
          .checked = j.at("checked"),
          .units = integer<size_t>(j.at("units")),
          .names = j.at("names")};
  o.shard = {integer<size_t>(j.at("shard").at(0)), integer<size_t>(j.at("shard").at(1))};
  if (auto shard = parseShard(o.shard.str()); !shard) throw std::invalid_argument("no such part");
}

/// One line after the head. An outcome must be of the shard, and come once.
void readLine(const Json& j, Outcomes& o, std::set<size_t>& seen) {
  if (o.ended) throw std::invalid_argument("lines after the end");
  if (j.contains("end")) {
    if (j.at("end") != o.done.size()) throw std::invalid_argument("lines are missing");
    o.ended = true;
    return;
  }
  UnitOutcome outcome = toOutcome(j);
  if (outcome.unit >= o.id.units || !o.shard.has(outcome.unit)) throw std::invalid_argument("a unit of another part");
  if (!seen.insert(outcome.unit).second) throw std::invalid_argument("a unit comes twice");
  o.done.push_back(std::move(outcome));
}

tl::unexpected<Error> damaged(const std::string& name, size_t number, const std::string& what) {
  return fail(ErrorKind::kPack, fmt::format("damaged at line {}{}{}", number, what.empty() ? "" : ": ", what), name,
              "remove it and make it again");
}

}  // namespace

std::string print(const UnitOutcome& outcome) {
  return printOutcome(outcome, true);
}

Expected<UnitOutcome> parseOutcome(std::string_view text, const std::string& name) {
  try {
    return toOutcome(Json::parse(text));
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {
    return fail(ErrorKind::kPack, fmt::format("not an outcome: {}", e.what()), name);
  }
}

bool looksLikeOutcomes(std::string_view bytes) {
  return bytes.starts_with(kMagic.substr(0, kMagic.find('2')));
}

std::string checkpointHead(const SearchId& id, const Shard& shard) {
  Json head = {
      {"code", id.code},        {"poly", id.poly},   {"depth", id.depth}, {"operations", id.operations},
      {"checked", id.checked},  {"units", id.units}, {"names", id.names}, {"shard", {shard.index, shard.count}},
      {"patterns", id.patterns}};
  return std::string(kMagic) + line(head.dump());
}

std::string checkpointLine(const UnitOutcome& outcome) {
  return line(printOutcome(outcome, true));
}

std::string partBytes(const SearchId& id, const Shard& shard, std::vector<UnitOutcome> outcomes) {
  std::sort(outcomes.begin(), outcomes.end(),
            [](const UnitOutcome& a, const UnitOutcome& b) { return a.unit < b.unit; });
  std::string bytes = checkpointHead(id, shard);
  for (const UnitOutcome& outcome : outcomes)
    bytes += line(printOutcome(outcome, false));
  return bytes + line(Json{{"end", outcomes.size()}}.dump());
}

Expected<Outcomes> readOutcomes(std::string_view bytes, const std::string& name) {
  if (!looksLikeOutcomes(bytes)) return fail(ErrorKind::kPack, "neither a checkpoint nor a part of a search", name);
  if (!bytes.starts_with(kMagic)) {
    return fail(ErrorKind::kPack, "a format that this version does not know", name, "use the version that wrote it");
  }
  Outcomes o{.id = {}, .shard = {}, .done = {}, .ended = false, .size = kMagic.size()};
  std::set<size_t> seen;
  for (size_t number = 2; o.size < bytes.size(); ++number) {
    size_t end = bytes.find('\n', o.size);
    if (end == std::string_view::npos) break;  // cut off in the midst of a line
    auto payload = payloadOf(bytes.substr(o.size, end - o.size));
    if (!payload) return damaged(name, number, "");
    try {
      Json j = Json::parse(*payload);
      if (number == 2)
        readHead(j, o);
      else
        readLine(j, o, seen);
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& e) {
      return damaged(name, number, e.what());
    }
    o.size = end + 1;
  }
  if (o.size == kMagic.size()) return fail(ErrorKind::kPack, "truncated: it has no head", name, "remove it");
  return o;
}

}  // namespace pet
