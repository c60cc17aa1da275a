// Input: a value that comes from outside; `constant` is 1 for weights (initializers).

#include "ir/ops/families.h"

namespace pet {
namespace {

const OpRow kInputRows[] = {
    {.name = "Input",
     .minOperands = 0,
     .maxOperands = 0,
     .attributes = {{"constant", AttributeKind::kScalar, "0"}},
     .infer = [](const OpView&) -> Expected<std::vector<Shape>> {
       return fail(ErrorKind::kInternal, "inputs are added by ProgramBuilder::input");
     }},
};

}  // namespace

std::span<const OpRow> inputRows() {
  return kInputRows;
}

}  // namespace pet
