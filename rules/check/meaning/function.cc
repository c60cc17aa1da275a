#include "rules/check/meaning/function.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace pet::check {
namespace {

// What holds for all values of the attributes. Reciprocal has no value at 0, Sqrt none below, Log neither; Not(x) is 1
// at 0 and 0 elsewhere.
const Function kFunctions[] = {
    {"Abs", {}, true, false, false, false, Needs::kNothing, Sign::kNotNegative, true},
    {"Ceil", {}, true, true, true, false},
    {"Clip", {"min", "max"}, false, true, true, false},
    {"Cos", {}, false, false, false, false},
    {"Elu", {"alpha"}, true, false, false, false},
    {"Erf", {}, true, true, false, false, Needs::kNothing, Sign::kAny, false, Law::kOdd},
    {"Exp", {}, false, true, false, true, Needs::kNothing, Sign::kPositive, false, Law::kExponential},
    {"Floor", {}, true, true, true, false},
    {"Gelu", {"approximate"}, true, false, false, false},
    {"HardSigmoid", {"alpha", "beta"}, false, false, false, false, Needs::kNothing, Sign::kNotNegative},
    {"HardSwish", {}, true, false, false, false},
    {"LeakyRelu", {"alpha"}, true, false, false, false, Needs::kNothing, Sign::kAny, true},
    {"Log", {}, false, false, false, false, Needs::kPositive},
    {"Max", {}, false, false, false, false},
    {"Mish", {}, true, false, false, false},
    {"Mod", {"divisor"}, true, false, true, false},
    {"Not", {}, false, false, false, false, Needs::kNothing, Sign::kNotNegative},
    {"PRelu", {}, true, false, false, false, Needs::kNothing, Sign::kAny, true},
    {"Reciprocal", {}, false, false, false, false, Needs::kNotZero, Sign::kAny, false, Law::kInverse},
    {"Relu", {}, true, true, true, true, Needs::kNothing, Sign::kNotNegative, true, Law::kPositivePart},
    {"Selu", {"alpha", "gamma"}, true, false, false, false},
    {"Sigmoid", {}, false, true, false, true, Needs::kNothing, Sign::kPositive},
    {"Sin", {}, true, false, false, false, Needs::kNothing, Sign::kAny, false, Law::kOdd},
    {"Softplus", {}, false, true, false, false, Needs::kNothing, Sign::kPositive},
    {"Sqrt", {}, true, false, false, false, Needs::kNotNegative, Sign::kNotNegative},
    {"Square", {}, true, false, false, false, Needs::kNothing, Sign::kNotNegative},
    {"Swish", {"alpha"}, true, false, false, false},
    {"Tanh", {}, true, true, false, false, Needs::kNothing, Sign::kAny, false, Law::kOdd},
};

std::string text(const Attribute& value) {
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("{}", *number);
  if (const auto* word = std::get_if<std::string>(&value)) return *word;
  throw Opaque("a function with an attribute that is neither a number nor a word");
}

}  // namespace

const Function* functionOf(std::string_view op) {
  auto it = std::find_if(std::begin(kFunctions), std::end(kFunctions), [&](const Function& f) { return f.op == op; });
  return it == std::end(kFunctions) ? nullptr : it;
}

Sign signOf(const Function& f, const Node& node) {
  if (f.op != "Clip" || node.number("min") < 0) return f.sign;
  return node.number("min") > 0 ? Sign::kPositive : Sign::kNotNegative;
}

bool isPositive(const Factor& constant) {
  if (constant.key == "1/" || constant.key == "1/window") return true;
  double number = 0;
  const char* end = constant.key.data() + constant.key.size();
  auto [stop, error] = std::from_chars(constant.key.data(), end, number);
  return error == std::errc() && stop == end && number > 0;
}

std::optional<Fraction> valueOf(const Function& f, const Node& node, const Fraction& x) {
  if (f.op == "Clip") {
    const double low = node.number("min"), high = node.number("max");
    const double here = static_cast<double>(x.over) / static_cast<double>(x.under);
    if (fractionOf(here) != x) return std::nullopt;  // rounded
    return here < low ? fractionOf(low) : here > high ? fractionOf(high) : x;
  }
  if (f.op == "Square") return x * x;
  if (f.op == "Relu" && x.over > 0) return x;
  if (f.op == "Relu") return Fraction{0, 1};
  if (f.op == "Not" && x.over != 0) return Fraction{0, 1};
  if (x.over != 0) return std::nullopt;
  if (f.op == "Not" || f.op == "Exp") return Fraction{1, 1};
  if (f.op == "Sigmoid") return Fraction{1, 2};
  return std::nullopt;
}

std::string keyOf(const Function& f, const Node& node) {
  std::string key(f.op);
  for (std::string_view name : f.attributes)
    key += " " + text(node.attributes.find(name)->second);
  return key;
}

}  // namespace pet::check
