#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "applier/infer/node_inference.h"

// The rules of inference: a row for each operator, in its family's file.
namespace pet {

/// What an operator's results are, from its operands. Element types come from its signature unless they depend on
/// attributes or on more than one operand.
struct InferRule {
  std::string_view type;
  void (*infer)(NodeInference&);
};

/// What entries of an operator's results are, once their extents are known.
struct EntryRule {
  std::string_view type;
  void (*infer)(NodeInference&);
};

// The families. activationRules: the result is like the first operand.
std::span<const InferRule> elementwiseRules();
std::span<const InferRule> normalizationRules();
std::span<const InferRule> reduceRules();
std::span<const InferRule> windowRules();
std::span<const InferRule> reshapeRules();
std::span<const InferRule> moveRules();
std::span<const InferRule> indexRules();
std::span<const InferRule> resizeRules();
std::span<const InferRule> productRules();
std::span<const InferRule> attentionRules();
std::span<const InferRule> recurrentRules();
std::span<const InferRule> generatorRules();
std::span<const InferRule> detectionRules();
std::span<const InferRule> sequenceRules();
std::span<const InferRule> controlRules();

std::span<const EntryRule> arithmeticEntryRules();
std::span<const EntryRule> moveEntryRules();

/// All rules of extents, family by family.
std::vector<const InferRule*> inferRules();

/// Null: no rule.
const InferRule* findInferRule(std::string_view type);
const EntryRule* findEntryRule(std::string_view type);

// --- What rules of several families say ---

/// The first result has the first operand's extents.
void inferLikeFirst(NodeInference& n);
/// The first result's extents are those of all operands, broadcast.
void inferBroadcast(NodeInference& n);
/// Throws InvalidNode where two operands' extents cannot be broadcast.
Shape broadcast(NodeInference& n, const Shape& a, const Shape& b);

}  // namespace pet
