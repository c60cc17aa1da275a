#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "ir/text.h"
#include "runtime/ort/grid.h"

namespace pet {
namespace {

using Json = nlohmann::ordered_json;

/// Tried for a symbol that nothing is said of.
const std::vector<Expr> kAnyValue{Expr(1), Expr(4), Expr(32)};

}  // namespace

struct Grid::Reader {
  std::string file;

  tl::unexpected<Error> error(const std::string& what) const {
    return fail(ErrorKind::kUsage, what, file, "see runtime/ort/grid.json for one that is right");
  }

  Expected<Expr> expression(const Json& value, const std::string& symbol) const {
    if (value.is_number_integer()) return Expr(value.get<int64_t>());
    if (!value.is_string()) return error(fmt::format("\"{}\" must be an integer or an expression", symbol));
    auto e = parseExpr(value.get<std::string>());
    if (!e) return error(fmt::format("\"{}\": {}", symbol, e.error().message()));
    return *e;
  }

  /// {"W": "H", "N": [1, 8]}.
  Expected<std::vector<Values>> valuesOf(const Json& object, const std::string& name) const {
    if (!object.is_object()) return error(fmt::format("\"{}\" must be an object", name));
    std::vector<Values> result;
    for (const auto& [symbol, value] : object.items()) {
      Values values{symbol, {}};
      for (const Json& each : value.is_array() ? value : Json::array({value})) {
        auto e = expression(each, symbol);
        if (!e) return tl::unexpected(e.error());
        values.each.push_back(*e);
      }
      result.push_back(std::move(values));
    }
    return result;
  }

  Expected<std::vector<Bindings>> pointsOf(const Json& list, const std::string& pattern) const {
    if (!list.is_array()) return error(fmt::format("\"points\" of {} must be a list", pattern));
    std::vector<Bindings> points;
    for (const Json& entry : list) {
      if (!entry.is_object()) return error(fmt::format("a point of {} must be an object", pattern));
      Bindings point;
      for (const auto& [symbol, value] : entry.items()) {
        if (!value.is_number_integer())
          return error(fmt::format("a point of {}: \"{}\" must be an integer", pattern, symbol));
        point[symbol] = value.get<int64_t>();
      }
      points.push_back(std::move(point));
    }
    return points;
  }

  Expected<std::set<int>> opsetsOf(const Json& list, const std::string& pattern) const {
    constexpr int kNewest = 1000;
    if (!list.is_array()) return error(fmt::format("\"opsets\" of {} must be a list", pattern));
    std::set<int> opsets;
    for (const Json& each : list) {
      if (!each.is_number_unsigned() || each < 1 || each > kNewest)
        return error(fmt::format("\"opsets\" of {} must be numbers from 1 to {}", pattern, kNewest));
      opsets.insert(each.get<int>());
    }
    return opsets;
  }

  /// Ties of the pattern go before the common ones of the same symbol.
  Expected<PatternGrid> patternOf(const Json& object,
                                  const std::string& pattern,
                                  const std::vector<Values>& ties) const {
    if (!object.is_object() || !(object.contains("points") || object.contains("like")))
      return error(fmt::format("{} needs \"points\" or \"like\"", pattern));
    PatternGrid grid;
    auto like = object.find("like"), first = object.find("first");
    if (like != object.end() && !like->is_string()) return error(fmt::format("\"like\" of {} must be a name", pattern));
    if (first != object.end() && !first->is_number_unsigned())
      return error(fmt::format("\"first\" of {} must be a count", pattern));
    if (like != object.end()) grid.like = like->get<std::string>();
    if (first != object.end()) grid.first = first->get<size_t>();
    auto points = pointsOf(object.value("points", Json::array()), pattern);
    if (!points) return tl::unexpected(points.error());
    grid.points = std::move(*points);
    auto opsets = opsetsOf(object.value("opsets", Json::array()), pattern);
    if (!opsets) return tl::unexpected(opsets.error());
    grid.opsets = std::move(*opsets);
    if (object.contains("ties")) {
      auto own = valuesOf(object["ties"], "ties");
      if (!own) return tl::unexpected(own.error());
      grid.ties = std::move(*own);
    }
    grid.ties.insert(grid.ties.end(), ties.begin(), ties.end());
    return grid;
  }

  /// Points of the patterns that others are like; those have points of their own.
  Expected<void> share(std::map<std::string, PatternGrid, std::less<>>& patterns) const {
    for (auto& [name, grid] : patterns) {
      if (grid.like.empty()) continue;
      auto other = patterns.find(grid.like);
      if (other == patterns.end() || !other->second.like.empty())
        return error(fmt::format("{} is like {}, which has no points of its own", name, grid.like));
      const std::vector<Bindings>& theirs = other->second.points;
      size_t count = grid.first == 0 ? theirs.size() : std::min(grid.first, theirs.size());
      grid.points.insert(grid.points.end(), theirs.begin(), theirs.begin() + static_cast<std::ptrdiff_t>(count));
    }
    return {};
  }

  Expected<Grid> read(const Json& json) const {
    if (!json.is_object()) return error("not a JSON object");
    Grid grid;
    auto ties = valuesOf(json.value("ties", Json::object()), "ties");
    if (!ties) return tl::unexpected(ties.error());
    auto otherwise = valuesOf(json.value("otherwise", Json::object()), "otherwise");
    if (!otherwise) return tl::unexpected(otherwise.error());
    grid.otherwise_ = std::move(*otherwise);
    Json patterns = json.value("patterns", Json::object());
    if (!patterns.is_object()) return error("\"patterns\" must be an object");
    for (const auto& [name, object] : patterns.items()) {
      auto pattern = patternOf(object, name, *ties);
      if (!pattern) return tl::unexpected(pattern.error());
      grid.patterns_[name] = std::move(*pattern);
    }
    if (auto shared = share(grid.patterns_); !shared) return tl::unexpected(shared.error());
    return grid;
  }
};

Expected<Grid> Grid::parse(std::string_view text, const std::string& file) {
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  std::string twice;
  auto note = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second)
      twice = parsed.get<std::string>();
    return true;
  };
  Json json = Json::parse(text, note, /*allow_exceptions=*/false, /*ignore_comments=*/true);
  const Reader reader{file};
  if (!twice.empty()) return reader.error(fmt::format("\"{}\" stands twice in one object", twice));
  return reader.read(json);
}

std::vector<Bindings> Grid::points(std::string_view pattern, const std::vector<std::string>& symbols) const {
  auto known = patterns_.find(pattern);
  bool own = known != patterns_.end();
  std::vector<Bindings> open = own ? known->second.points : std::vector<Bindings>{{}};
  for (const Values& values : own ? known->second.ties : otherwise_) {
    std::vector<Bindings> next;
    for (const Bindings& point : open) {
      bool wanted = std::find(symbols.begin(), symbols.end(), values.symbol) != symbols.end();
      if (!wanted || point.contains(values.symbol)) {
        next.push_back(point);
        continue;
      }
      for (const Expr& e : values.each) {
        next.push_back(point);
        if (auto value = e.evaluate(point)) next.back()[values.symbol] = *value;
      }
    }
    open = std::move(next);
  }
  for (const std::string& symbol : symbols) {
    std::vector<Bindings> next;
    for (const Bindings& point : open) {
      for (const Expr& e : point.contains(symbol) ? std::vector<Expr>{point.find(symbol)->second} : kAnyValue) {
        next.push_back(point);
        next.back()[symbol] = e.constant();
      }
    }
    open = std::move(next);
  }
  std::vector<Bindings> result;
  std::set<Bindings> seen;
  for (Bindings& point : open) {
    std::erase_if(point, [&](const auto& entry) {
      return std::find(symbols.begin(), symbols.end(), entry.first) == symbols.end();
    });
    if (seen.insert(point).second) result.push_back(std::move(point));
  }
  return result;
}

std::set<int> Grid::opsets(std::string_view pattern) const {
  auto known = patterns_.find(pattern);
  return known == patterns_.end() ? std::set<int>() : known->second.opsets;
}

}  // namespace pet
