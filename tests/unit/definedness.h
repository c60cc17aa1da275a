#pragma once

#include <cmath>

#include "ir/denote.h"
#include "tests/unit/access_check.h"

// Which elements of a program have a value, over the real numbers, for given inputs: element by element, as the program
// is written. The prover's and the checker's answers are judged by it.
namespace pet::testing_support {

/// Values with what is known of them. An element without a value holds 0.
struct PartialTensor {
  Tensor<double> values;
  std::vector<bool> defined;
};

/// Evaluates lowered programs node by node.
class DefinednessEvaluator {
 public:
  /// Rounding may hide that an argument is on the edge of a domain. `inside`: such an element has no value, so that
  /// what has one surely has; else it has one, so that what has none surely has not.
  DefinednessEvaluator(const Program& program, const Bindings& symbols, bool inside)
      : program_(lower(program.withoutDeadNodes()).value()), symbols_(symbols), inside_(inside) {}

  PartialTensor run(const std::map<std::string, Tensor<double>>& inputs) {
    const auto& nodes = program_.nodes();
    for (size_t n = 0; n < nodes.size(); ++n) {
      results_.emplace_back();
      if (nodes[n].op->name == "Input") {
        Tensor<double> x = inputs.at(nodes[n].names[0]);
        std::vector<bool> all(x.data.size(), true);
        results_[n].push_back({std::move(x), std::move(all)});
      } else {
        evaluateOperator(static_cast<int>(n));
      }
    }
    return of(program_.outputs()[0]);
  }

  /// The largest magnitude that occurred: rounding is relative to it.
  double largest() const { return largest_; }

 private:
  Program program_;
  Bindings symbols_;
  bool inside_;
  std::vector<std::vector<PartialTensor>> results_;
  double largest_ = 1;

  const PartialTensor& of(Value v) const {
    return results_[static_cast<size_t>(v.node)][static_cast<size_t>(v.output)];
  }

  void evaluateOperator(int number) {
    const Node& node = program_.nodes()[static_cast<size_t>(number)];
    std::vector<const Tensor<double>*> operands;
    for (Value v : node.operands)
      operands.push_back(&of(v).values);
    auto values = evaluateNode<double>(program_, number, symbols_, operands);
    ASSERT_TRUE(values) << values.error().message();
    for (size_t o = 0; o < values->size(); ++o) {
      PartialTensor result{std::move((*values)[o]), {}};
      result.defined = node.op->meaning == Meaning::kFunction ? definedFunction(node, result.values.extents)
                                                              : definedReads(node, static_cast<int>(o));
      for (size_t i = 0; i < result.defined.size(); ++i) {
        double& value = result.values.data[i];
        if (!result.defined[i]) value = 0;
        if (std::isfinite(value)) largest_ = std::max(largest_, std::abs(value));
      }
      results_[static_cast<size_t>(number)].push_back(std::move(result));
    }
  }

  bool inDomain(const Node& node, double x) const {
    constexpr double kSurely = 1e-9, kNoise = 1e-12;
    switch (node.op->facts.domain) {
      case Facts::Domain::kNotZero:
        return std::abs(x) > (inside_ ? kSurely : kNoise);
      case Facts::Domain::kNonNegative:
        return x >= (inside_ ? -kNoise : -kSurely);
      case Facts::Domain::kPositive:
        return x > (inside_ ? kSurely : kNoise);
      default:
        return true;
    }
  }

  std::vector<bool> definedFunction(const Node& node, const Extents& extents) const {
    std::vector<bool> result;
    eachPosition(extents, [&](const std::vector<int64_t>& position, size_t) {
      bool all = true;
      for (size_t i = 0; i < node.operands.size(); ++i) {
        const PartialTensor& x = of(node.operands[i]);
        size_t skip = extents.size() - x.values.extents.size(), offset = 0;
        for (size_t d = 0; d < x.values.extents.size(); ++d) {
          int64_t extent = x.values.extents[d];
          offset = offset * static_cast<size_t>(extent) + static_cast<size_t>(extent == 1 ? 0 : position[skip + d]);
        }
        all = all && x.defined[offset] && (i > 0 || inDomain(node, x.values.data[offset]));
      }
      result.push_back(all);
      return true;
    });
    return result;
  }

  std::vector<bool> definedReads(const Node& node, int output) const {
    std::vector<Shape> shapes;
    for (Value v : node.operands)
      shapes.push_back(program_.shape(v));
    auto access = accessOf(node, {node.attributes, shapes, node.shapes}, output, symbols_);
    EXPECT_TRUE(access) << access.error().message();
    std::vector<CompiledPiece> pieces;
    for (const AccessPiece& piece : access->pieces)
      pieces.emplace_back(piece, access->digits, symbols_);
    bool selects = node.op->name == "Select";
    std::vector<bool> result;
    eachPosition(access->extents, [&](const std::vector<int64_t>& position, size_t) {
      bool all = true;
      for (size_t p = 0; p < pieces.size(); ++p) {
        const auto& reads = access->pieces[p].reads;
        pieces[p].eachRead(position, access->atoms, [&](const std::vector<size_t>& offsets) {
          for (size_t r = 0; r < offsets.size(); ++r) {
            if (selects && r == 1 && of(node.operands[0]).values.data[offsets[0]] == 0) continue;
            all = all && of(node.operands[static_cast<size_t>(reads[r].operand)]).defined[offsets[r]];
          }
        });
      }
      result.push_back(all);
      return true;
    });
    return result;
  }
};

}  // namespace pet::testing_support
