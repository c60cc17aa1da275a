// Sequences and optional values. Of a sequence the element type is known, and extents if they are the same for all.

#include <algorithm>

#include "applier/infer/rules.h"

namespace pet {
namespace {

using SequenceKind = InferredType::Kind;

/// What is known of tensors of either type.
InferredType common(const InferredType& a, const InferredType& b, SequenceKind kind) {
  InferredType type{kind, a.element == ElementType::kUnknown ? b.element : a.element};
  if (a.dims && b.dims && *a.dims == *b.dims) type.dims = a.dims;
  return type;
}

void inferSequenceConstruct(NodeInference& n) {
  InferredType type = n.operand(0);
  for (size_t i = 1; i < n.operandCount(); ++i)
    type = common(type, n.operand(i), SequenceKind::kSequence);
  type.kind = SequenceKind::kSequence;
  type.data.reset();
  n.result(0) = std::move(type);
}

void inferSequenceEmpty(NodeInference& n) {
  n.result(0) = {SequenceKind::kSequence, static_cast<ElementType>(n.integer("dtype", 1))};
}

void inferSequenceInsert(NodeInference& n) {
  n.result(0) = common(n.operand(0), n.operand(1), SequenceKind::kSequence);
}

void inferSequenceErase(NodeInference& n) {
  n.result(0) = n.operand(0);
}

void inferSequenceAt(NodeInference& n) {
  if (n.operand(0).kind != SequenceKind::kSequence) NodeInference::nothing();
  n.result(0) = n.operand(0);
  n.result(0).kind = SequenceKind::kTensor;
}

void inferSequenceLength(NodeInference& n) {
  n.setShape(0, {});
}

// The body is not looked into: each result is a sequence of what it gives.
void inferSequenceMap(NodeInference& n) {
  for (size_t i = 0; i < n.resultCount(); ++i)
    n.result(i).kind = SequenceKind::kSequence;
}

// Equal parts only if that is certain; without operand 1 parts of extent 1, dropped unless keepdims.
void inferSplitToSequence(NodeInference& n) {
  InferredType type{SequenceKind::kSequence, n.operand(0).element};
  if (n.hasShape(0)) {
    Shape part = n.shape(0);
    size_t axis = n.axisOf("axis", 0, part.size());
    auto size = n.has(1) && n.hasShape(1) && n.rank(1) == 0 ? n.constant(1) : std::nullopt;
    auto extent = part[axis].asConstant();
    if (!n.has(1) && !n.flag("keepdims", true)) {
      part.erase(part.begin() + static_cast<std::ptrdiff_t>(axis));
      type.dims = part;
    } else if (!n.has(1) || (size && *size > 0 && extent && *extent % *size == 0)) {
      part[axis] = n.has(1) ? *size : 1;
      type.dims = part;
    }
  }
  n.result(0) = std::move(type);
}

void inferConcatFromSequence(NodeInference& n) {
  if (n.operand(0).kind != SequenceKind::kSequence) NodeInference::nothing();
  n.setElement(0, n.operand(0).element);
  if (!n.operand(0).dims) NodeInference::nothing();
  Shape y = *n.operand(0).dims;
  const bool fresh = n.flag("new_axis", false);
  size_t axis = n.axisOf("axis", 0, y.size() + (fresh ? 1 : 0));
  if (fresh) {
    y.insert(y.begin() + static_cast<std::ptrdiff_t>(axis), n.open());
  } else {
    y[axis] = n.open();
  }
  n.setShape(0, std::move(y));
}

// An optional sequence is a value of which nothing is known.
void inferOptional(NodeInference& n) {
  if (n.operand(0).kind != SequenceKind::kTensor) NodeInference::nothing();
  n.result(0) = n.operand(0);
  n.result(0).kind = SequenceKind::kOptional;
  n.result(0).data.reset();
}

void inferOptionalGetElement(NodeInference& n) {
  n.result(0) = n.operand(0);
  if (n.result(0).kind == SequenceKind::kOptional) n.result(0).kind = SequenceKind::kTensor;
}

constexpr InferRule kSequenceRules[] = {
    {"ConcatFromSequence", inferConcatFromSequence},
    {"Optional", inferOptional},
    {"OptionalGetElement", inferOptionalGetElement},
    {"OptionalHasElement", inferSequenceLength},
    {"SequenceAt", inferSequenceAt},
    {"SequenceConstruct", inferSequenceConstruct},
    {"SequenceEmpty", inferSequenceEmpty},
    {"SequenceErase", inferSequenceErase},
    {"SequenceInsert", inferSequenceInsert},
    {"SequenceLength", inferSequenceLength},
    {"SequenceMap", inferSequenceMap},
    {"SplitToSequence", inferSplitToSequence},
};

}  // namespace

std::span<const InferRule> sequenceRules() {
  return kSequenceRules;
}

}  // namespace pet
