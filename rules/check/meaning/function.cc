#include "rules/check/meaning/function.h"

#include <algorithm>

#include <fmt/format.h>

namespace pet::check {
namespace {

// What holds for all values of the attributes. Reciprocal has no value at 0; Not(x) is 1 at 0 and 0 elsewhere.
const Function kFunctions[] = {
    {"Clip", {"min", "max"}, false, true, true, false},
    {"Erf", {}, true, true, false, false},
    {"Exp", {}, false, true, false, true},
    {"Gelu", {"approximate"}, true, false, false, false},
    {"HardSigmoid", {"alpha", "beta"}, false, false, false, false},
    {"HardSwish", {}, true, false, false, false},
    {"LeakyRelu", {"alpha"}, true, false, false, false},
    {"Not", {}, false, false, false, false},
    {"PRelu", {}, true, false, false, false},
    {"Reciprocal", {}, false, false, false, false},
    {"Relu", {}, true, true, true, true},
    {"Sigmoid", {}, false, true, false, true},
    {"Softplus", {}, false, true, false, false},
    {"Sqrt", {}, true, false, false, false},
    {"Square", {}, true, false, false, false},
    {"Tanh", {}, true, true, false, false},
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

std::string keyOf(const Function& f, const Node& node) {
  std::string key(f.op);
  for (std::string_view name : f.attributes)
    key += " " + text(node.attributes.find(name)->second);
  return key;
}

}  // namespace pet::check
