#include "rules/pack/timing_sample.h"

#include "rules/pack/plain_text.h"
#include "rules/surroundings.h"

namespace pet {
namespace {

constexpr size_t kMostSymbols = 1000;
constexpr double kLeastSeconds = 1e-12, kMostSeconds = 1e6, kMostSpread = 1e6;
constexpr int64_t kMostExtent = int64_t{1} << 40;
constexpr int64_t kMostBytesMoved = int64_t{1} << 60;
constexpr const char* kNotPlain = "its text is not plain text in UTF-8";

}  // namespace

std::string shapesText(const Bindings& shapes) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for (const auto& [symbol, value] : shapes)
    object[symbol] = value;
  return object.dump();
}

Bindings shapesOf(const nlohmann::ordered_json& object) {
  Bindings shapes;
  for (const auto& [symbol, value] : object.get_ref<const nlohmann::ordered_json::object_t&>())
    shapes[symbol] = integer<int64_t>(value);
  return shapes;
}

LayoutSample layoutOf(const TimingSample& s) {
  return {s.opening + s.closing, s.moved, s.threads, s.weights, s.isa, s.machine};
}

const char* nonsense(const TimingSample& s) {
  auto within = [](double x, double least, double most) { return x >= least && x <= most; };
  if (!within(s.pattern, kLeastSeconds, kMostSeconds) || !within(s.replacement, kLeastSeconds, kMostSeconds))
    return "seconds must be numbers from 1e-12 to 1e6";
  if (!within(s.opening, 0, kMostSeconds) || !within(s.closing, 0, kMostSeconds))
    return "seconds of layouts must be numbers from 0 to 1e6";
  if (s.moved < 0 || s.moved > kMostBytesMoved) return "bytes that layouts move must be from 0 to 2^60";
  if (!within(s.spread, 0, kMostSpread)) return "spread must be a number from 0 to 1e6";
  if (s.shapes.size() > kMostSymbols) return "there are more than 1000 symbols in shapes";
  for (const auto& [symbol, value] : s.shapes) {
    if (value < 0 || value > kMostExtent) return "shapes must be from 0 to 2^40";
    if (!isPlainText(symbol)) return kNotPlain;
  }
  if (const char* why = nonsenseOfRule({s.rule, s.name, {}})) return why;
  return nonsenseOfSetting(s);
}

const char* nonsenseOfRule(const NamedRule& rule) {
  if (rule.hash.empty()) return "rule must be given";
  return isPlainText(rule.hash) && isPlainText(rule.name) ? nullptr : kNotPlain;
}

const char* nonsenseOfSetting(const TimingSample& s) {
  if (s.threads < 1) return "threads must be >= 1";
  if (s.weights != "cold" && s.weights != "warm") return "weights must be cold or warm";
  if (!surroundingsAt(s.place)) return "place must be between, first, last or alone";
  if (s.opset < 1) return "opset must be >= 1";
  if (s.device.empty()) return "device must be given";
  for (const std::string* text : {&s.device, &s.engine, &s.version, &s.isa, &s.machine, &s.date}) {
    if (!isPlainText(*text)) return kNotPlain;
  }
  return nullptr;
}

}  // namespace pet
