#include "applier/match/forms.h"

#include "rules/rewrite/batch.h"
#include "rules/rewrite/normal_form.h"

namespace pet {
namespace {

constexpr size_t kMostBatchDimensions = 4;  // of the tensors of video: N, C, D, H before W

std::vector<Form> formsOf(const Pattern& pattern) {
  auto shared = [](const Program& program) { return std::make_shared<const Program>(rewrite::inNormalForm(program)); };
  std::vector<Form> forms{{shared(pattern.program), ""}};
  for (size_t count = 0; count <= kMostBatchDimensions; ++count) {
    auto other = count == 1 ? std::nullopt : rewrite::withBatchDimensions(pattern.program, count);
    if (other) forms.push_back({shared(other->program), other->batch, other->dims});
  }
  return forms;
}

}  // namespace

const std::vector<Form>& Forms::of(const Pattern& pattern) {
  auto known = known_.find(&pattern);
  return known != known_.end() ? known->second : known_.emplace(&pattern, formsOf(pattern)).first->second;
}

}  // namespace pet
