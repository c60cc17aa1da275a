#include "applier/match/forms.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "ir/ops/einsum.h"
#include "ir/ops/op.h"
#include "ir/pieces.h"
#include "rules/rewrite/batch.h"
#include "rules/rewrite/normal_form.h"

namespace pet {
namespace {

constexpr size_t kMostBatchDimensions = 4;  // of the tensors of video: N, C, D, H before W

bool isReadAway(const Program& program) {
  const auto& nodes = program.nodes();
  const auto operators = std::count_if(nodes.begin(), nodes.end(), [](const Node& n) { return !n.is(ops::kInput); });
  return operators == 1 && rewrite::isReadAway(program.node(program.outputs()[0]).op->name);
}

/// As the model's operators are entered: the letters of an Einsum's equation in order. `program`: of that operator
/// alone, which may have its two operands exchanged.
Program withLettersInOrder(const Program& program, bool isExchanged) {
  ProgramBuilder builder;
  for (int i = 0; i < static_cast<int>(program.nodes().size()); ++i) {
    const Node& n = program.nodes()[static_cast<size_t>(i)];
    if (n.is(ops::kInput)) {
      builder.input(n.names[0], n.shapes[0], isConstant(program, {i, 0}));
      continue;
    }
    std::vector<Value> operands = n.operands;
    Attributes attributes = n.attributes;
    if (n.is(ops::kEinsum)) {
      EinsumEquation equation = readEinsum(n.text("equation"));
      if (isExchanged) std::swap(operands[0], operands[1]), std::swap(equation.operands[0], equation.operands[1]);
      attributes.insert_or_assign("equation", inOrder(equation));
    }
    [[maybe_unused]] auto added = builder.add(*n.op, std::move(operands), std::move(attributes), n.names);
    assert(added && "an operator that fitted once fits again");
  }
  return std::move(builder).finish(program.outputs());
}

/// The pieces (ir/pieces.h), of what is no constant.
int operatorsIn(const Program& program) {
  const std::vector<bool> constant = constantNodes(program);
  int count = 0;
  for (size_t i = 0; i < constant.size(); ++i) {
    count += !constant[i] && isPiece(program.nodes()[i]);
  }
  return count;
}

/// Form::pieces of a pattern and its normal form.
int piecesIn(const Program& program, const Program& normal) {
  if (operatorsIn(normal) != 1) return 1;
  return std::max(1, operatorsIn(rewrite::inNormalForm(program, rewrite::Idioms::kAsTheyStand)));
}

Form formOf(const Program& program, std::string batch, std::vector<std::string> dims) {
  const bool isWritten = isReadAway(program);
  Program stands = isWritten ? withLettersInOrder(program, false) : rewrite::inNormalForm(program);
  const int pieces = isWritten ? 1 : piecesIn(program, stands);
  return {std::make_shared<const Program>(std::move(stands)), isWritten, pieces, std::move(batch), std::move(dims)};
}

std::vector<Form> formsOf(const Pattern& pattern) {
  std::vector<Form> forms{formOf(pattern.program, "", {})};
  const Node& last = pattern.program.node(pattern.program.outputs()[0]);
  if (forms[0].isWritten && last.is(ops::kEinsum) && last.operands.size() == 2)
    forms.push_back({std::make_shared<const Program>(withLettersInOrder(pattern.program, true)), true, 1, ""});
  for (size_t count = 0; count <= kMostBatchDimensions; ++count) {
    auto other = count == 1 ? std::nullopt : rewrite::withBatchDimensions(pattern.program, count);
    if (other) forms.push_back(formOf(other->program, other->batch, other->dims));
  }
  return forms;
}

}  // namespace

const std::vector<Form>& Forms::of(const Pattern& pattern) {
  auto known = known_.find(&pattern);
  return known != known_.end() ? known->second : known_.emplace(&pattern, formsOf(pattern)).first->second;
}

}  // namespace pet
