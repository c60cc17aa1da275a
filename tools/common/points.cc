#include "tools/common/points.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace pet::tool {
namespace {

using Json = nlohmann::json;

/// Throws Json's exceptions, and std::out_of_range where there is no such place.
RulePoint pointOf(std::string_view line) {
  const Json json = Json::parse(line);
  RulePoint point{json.at("rule").get<std::string>(), json.at("shapes").get<Bindings>()};
  const Surroundings* beside = surroundingsAt(json.value("place", std::string(point.beside.place())));
  if (!beside) throw std::out_of_range("place");
  point.beside = *beside;
  point.opset = json.value("opset", point.opset);
  return point;
}

}  // namespace

std::string print(const std::vector<RulePoint>& points) {
  std::string text;
  for (const RulePoint& p : points) {
    const Json line{{"rule", p.rule}, {"shapes", p.shapes}, {"place", p.beside.place()}, {"opset", p.opset}};
    text += line.dump() + "\n";
  }
  return text;
}

Expected<std::vector<RulePoint>> parsePoints(std::string_view text, const std::string& file) {
  std::vector<RulePoint> points;
  for (int number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    try {
      points.push_back(pointOf(line));
    } catch (const std::exception&) {
      return fail(ErrorKind::kUsage, R"(not of the form {"rule": "conv/winograd-2-3", "shapes": {"N": 1}})",
                  fmt::format("{}:{}", file, number));
    }
  }
  return points;
}

}  // namespace pet::tool
