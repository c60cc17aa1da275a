#include "synth/numerics/magnitudes.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "ir/ops/op.h"

namespace pet {
namespace {

/// A table whose entries may cancel each other.
bool hasBothSigns(const Node& node) {
  if (!node.is(ops::kTable)) return false;
  const auto& values = node.list("values");
  auto isNegative = [](const Expr& e) { return e.constant() < 0; };
  auto isPositive = [](const Expr& e) { return e.constant() > 0; };
  return std::any_of(values.begin(), values.end(), isNegative) && std::any_of(values.begin(), values.end(), isPositive);
}

/// Numbers that are factors or addends of the result.
Attributes positive(const Node& node) {
  Attributes result = node.attributes;
  for (const char* name : {"value", "alpha", "beta"}) {
    auto it = result.find(name);
    double* number = it == result.end() ? nullptr : std::get_if<double>(&it->second);
    if (number && std::isfinite(*number)) *number = std::abs(*number);
  }
  if (node.is(ops::kTable)) {
    for (Expr& e : std::get<std::vector<Expr>>(result.find("values")->second))
      e = std::abs(e.constant());
  }
  return result;
}

/// The operator that adds where this one subtracts.
const OpRow& withoutSign(const OpRow& op) {
  return op.is(ops::kSub) ? *findOp(ops::kAdd.text) : op.is(ops::kNeg) ? *findOp(ops::kIdentity.text) : op;
}

class MagnitudeWriter {
 public:
  MagnitudeWriter(const Program& program, SignedTables tables) : program_(program), tables_(tables) {}

  Expected<Magnitudes> write() {
    for (Value v : program_.inputs()) {
      Value input = builder_.input(program_.name(v), program_.shape(v), isConstant(program_, v));
      result_.plain[v] = result_.magnitude[v] = input;
      ++result_.inputs;
    }
    for (size_t i = 0; i < program_.nodes().size(); ++i) {
      if (program_.nodes()[i].is(ops::kInput)) continue;
      if (auto ok = copy(static_cast<int>(i)); !ok) return tl::unexpected(ok.error());
    }
    result_.program = std::move(builder_).finish({});
    return std::move(result_);
  }

 private:
  const Program& program_;
  const SignedTables tables_;
  ProgramBuilder builder_;
  Magnitudes result_;

  static std::vector<Value> mapped(const Node& node, const std::map<Value, Value>& by) {
    std::vector<Value> result;
    for (Value v : node.operands)
      result.push_back(by.at(v));
    return result;
  }

  void keep(std::map<Value, Value>& as, int node, Value first) const {
    for (size_t o = 0; o < program_.nodes()[static_cast<size_t>(node)].shapes.size(); ++o)
      as[{node, static_cast<int>(o)}] = {first.node, static_cast<int>(o)};
  }

  Expected<void> copy(int number) {
    const Node& node = program_.nodes()[static_cast<size_t>(number)];
    std::vector<Value> operands = mapped(node, result_.plain);
    auto plain = builder_.add(*node.op, operands, node.attributes);
    if (!plain) return tl::unexpected(plain.error());
    keep(result_.plain, number, *plain);
    keep(result_.magnitude, number, *plain);
    if (node.op->meaning != Meaning::kSum) return {};
    if (hasBothSigns(node)) {
      if (tables_ == SignedTables::kKept) return {};
      keep(result_.magnitude, number, builder_.input(fmt::format("table {}", number), node.shapes[0], true));
      result_.tables.push_back(node.attributes);
      return {};
    }
    std::vector<Value> magnitudes = mapped(node, result_.magnitude);
    Attributes attributes = positive(node);
    const OpRow& op = withoutSign(*node.op);
    if (&op == node.op && attributes == node.attributes && magnitudes == operands) return {};
    auto magnitude = builder_.add(op, magnitudes, std::move(attributes));
    if (!magnitude) return tl::unexpected(magnitude.error());
    keep(result_.magnitude, number, *magnitude);
    return {};
  }
};

}  // namespace

Expected<Magnitudes> magnitudesOf(const Program& program, SignedTables tables) {
  return MagnitudeWriter(program, tables).write();
}

}  // namespace pet
