// What an output evaluates of partial functions: the reads of all operators on the way, whatever becomes of the values.

#include <algorithm>

#include "ir/denoter.h"
#include "ir/limits.h"
#include "ir/ops/common.h"

namespace pet {
namespace {

bool isPartial(const Node& node) {
  return node.op->meaning == Meaning::kFunction && node.op->facts.domain != Facts::Domain::kEverything;
}

}  // namespace

void Denoter::markPartial() {
  for (const Node& node : program_.nodes()) {
    bool below = std::any_of(node.operands.begin(), node.operands.end(),
                             [&](Value v) { return holdsPartial_[static_cast<size_t>(v.node)]; });
    holdsPartial_.push_back(below || isPartial(node));
  }
}

/// value[at] is evaluated where `use` says.
Expected<void> Denoter::addUses(Value value, const Index& at, const Use& use) {
  if (!holdsPartial_[static_cast<size_t>(value.node)]) return {};
  Visit visit{value, at, use};
  if (std::find(visits_.begin(), visits_.end(), visit) != visits_.end()) return {};
  if (visits_.size() == kMostVisits) return unsupported("partial functions that are evaluated in very many ways");
  visits_.push_back(std::move(visit));
  const Node& node = program_.node(value);
  if (node.op->meaning == Meaning::kFunction) {
    if (isPartial(node)) {
      Value subject = node.operands.size() == 1 ? node.operands[0] : value;
      auto applied = apply(functionKey(node), factsOf(node), program_.shape(value), node.operands, subject);
      if (!applied) return tl::unexpected(applied.error());
      result_.partialUses.push_back({(*applied)->application, use.reduction, use.domain, flat(at), use.guards});
    }
    for (Value operand : node.operands) {
      auto ok = addUses(operand, broadcastIndex(program_.shape(operand), at), use);
      if (!ok) return ok;
    }
    return {};
  }
  auto pieces = access(value, at);
  if (!pieces) return tl::unexpected(pieces.error());
  for (const AccessPiece& piece : *pieces) {
    auto ok = addUsesOfReads(node, piece, use);
    if (!ok) return ok;
  }
  return {};
}

Expected<void> Denoter::addUsesOfReads(const Node& node, const AccessPiece& piece, Use use) {
  Partial within;
  within.domain = std::move(use.domain);
  if (!within.multiply(piece)) return {};
  use.domain = std::move(within.domain);
  use.reduction.insert(use.reduction.end(), piece.reduction.begin(), piece.reduction.end());
  for (const Factor& number : within.factors) {
    if (!number.positive) use.guards.push_back(number);
  }
  for (size_t i = 0; i < piece.reads.size(); ++i) {
    const OperandRead& read = piece.reads[i];
    Value operand = node.operands[static_cast<size_t>(read.operand)];
    std::vector<Use> uses{use};
    if (node.is(ops::kSelect) && i == 1) {
      auto where = selected(use, node.operands[0], piece.reads[0].at);
      if (!where) return tl::unexpected(where.error());
      uses = std::move(*where);
    }
    for (const Use& u : uses) {
      auto ok = addUses(operand, read.at, u);
      if (!ok) return ok;
    }
  }
  return {};
}

/// The parts of a use in which the condition is not zero.
Expected<std::vector<Denoter::Use>> Denoter::selected(const Use& use, Value condition, const Index& at) {
  Partial within;
  within.domain = use.domain;
  auto products = multiply(within, condition, at);
  if (!products) return tl::unexpected(products.error());
  std::vector<Use> result;
  for (Partial& p : *products) {
    if (!p.reduction.empty() || p.minusInfinity) return unsupported("a selection by a sum");
    result.push_back({use.reduction, std::move(p.domain), use.guards});
    for (Factor& f : p.factors) {
      if (!f.positive) result.back().guards.push_back(std::move(f));
    }
  }
  // A sum of several terms may be zero where none of them is.
  bool isFunction = program_.node(condition).op->meaning == Meaning::kFunction;
  if (result.size() > 1 && !isFunction) return unsupported("a selection by a sum");
  return result;
}

}  // namespace pet
