#include <algorithm>

#include "ir/limits.h"
#include "rules/check/meaning/writer.h"

// Uses of partial functions: docs/rule-language.md, "Where there is a value".
namespace pet::check {

/// Whether a partial function is among what the value is computed from.
bool Writer::isPartial(Value value) {
  if (auto known = partial_.find(value); known != partial_.end()) return known->second;
  const Node& node = program_.node(value);
  const Function* f = functionOf(opOf(node));
  bool result = f && f->needs != Needs::kNothing;
  for (Value operand : node.operands)
    result = isPartial(operand) || result;
  return partial_.emplace(value, result).first->second;
}

void Writer::visit(const Visit& v) {
  if (!isPartial(v.value) || std::find(visits_.begin(), visits_.end(), v) != visits_.end()) return;
  if (visits_.size() == kMostVisits) throw Opaque("partial functions that are evaluated in very many ways");
  visits_.push_back(v);
  const Node& node = program_.node(v.value);
  const Function* f = functionOf(opOf(node));
  if (!f) {
    for (const Clause& clause : relation(v.value, v.at))
      visitReads(v, clause);
    return;
  }
  if (f->needs != Needs::kNothing) {
    Value subject = node.operands.size() == 1 ? node.operands[0] : v.value;
    const Image& made = image(node, program_.shape(v.value), node.operands, subject);
    meaning_.uses.push_back({made.application.value(), v.reduction, v.domain, flat(v.at), v.guards});
  }
  for (Value operand : node.operands)
    visit({operand, broadcast(program_.shape(operand), v.at), v.reduction, v.domain, v.guards});
}

void Writer::visitReads(const Visit& v, const Clause& clause) {
  Product p;
  p.domain = v.domain;
  if (!p.take(clause)) return;
  Visit next = v;
  next.domain = p.domain;
  next.reduction.insert(next.reduction.end(), clause.reduction.begin(), clause.reduction.end());
  std::copy_if(clause.constants.begin(), clause.constants.end(), std::back_inserter(next.guards),
               [](const Factor& c) { return !isPositive(c); });
  const Node& node = program_.node(v.value);
  for (const Read& read : clause.reads) {
    bool isSelected = opOf(node) == "Select" && read.operand == 1;
    std::vector<Visit> all{next};
    if (isSelected) all = whereNotZero(next, node.operands[0], clause.reads[0].at);
    for (Visit& one : all) {
      one.value = node.operands[read.operand];
      one.at = read.at;
      visit(one);
    }
  }
}

/// What is visited, part by part, where a condition is not 0.
std::vector<Writer::Visit> Writer::whereNotZero(const Visit& v, Value condition, const Position& at) {
  Product p;
  p.domain = v.domain;
  std::vector<Visit> result;
  for (const Product& term : times(p, condition, at)) {
    if (!term.reduction.empty() || term.minusInfinity) throw Opaque("a selection by a sum");
    Visit part = v;
    part.domain = term.domain;
    for (const Factor& f : term.factors) {
      if (f.kind != Factor::Kind::kConstant || !isPositive(f)) part.guards.push_back(f);
    }
    result.push_back(std::move(part));
  }
  if (result.size() > 1 && !functionOf(opOf(program_.node(condition)))) throw Opaque("a selection by a sum");
  return result;
}

}  // namespace pet::check
