// Every operator that oneDNN or a kernel of ours computes, against the reference: integers must be equal, functions of
// real numbers as close as their approximations are.

#include <algorithm>
#include <set>

#include <gmock/gmock.h>

#include "ir/ops/op.h"
#include "runtime/onednn/onednn.h"
#include "tests/unit/engine_cases.h"

namespace pet::onednn_operators_test {
namespace {

using namespace testing_support;

class OneDnnOperators : public testing::TestWithParam<EngineCase> {};

TEST_P(OneDnnOperators, IsTheReference) {
  const EngineCase& c = GetParam();
  auto program = parseProgram(c.text, "test");
  ASSERT_TRUE(program) << program.error().message();
  TensorMap tensors = draw(*program, c.tolerance == 0);
  auto model = OneDnnModel::prepare(*program, tensors, {.threads = 1, .winograd = c.winograd});
  ASSERT_TRUE(model) << model.error().message();
  std::string notes;
  for (const EngineNote& note : model->notes()) {
    notes += note.node + ": " + note.op + ", " + note.how + "\n";
    EXPECT_FALSE(note.reference) << note.how;
  }
  EXPECT_EQ(notes.find("winograd") != std::string::npos, c.winograd) << notes;
  auto wanted = expected(*program, tensors);
  for (int run = 0; run < 2; ++run) {  // nothing of the first run may be left in the second
    auto found = model->run(tensors);
    ASSERT_TRUE(found) << found.error().message();
    ASSERT_EQ(found->size(), wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) {
      ASSERT_EQ((*found)[i].extents, wanted[i].extents);
      if (c.tolerance == 0) {
        EXPECT_EQ((*found)[i], wanted[i]) << notes;
      } else {
        EXPECT_LE(distance((*found)[i], wanted[i]), c.tolerance) << notes;
      }
    }
  }
}

std::string nameOf(const testing::TestParamInfo<EngineCase>& test) {
  std::string name = test.param.name;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, OneDnnOperators, testing::ValuesIn(kEngineCases), nameOf);

/// Operators that are computed from constants alone wherever they occur, or by the reference; a new operator comes in
/// here, or gets a lowering.
const std::set<std::string_view> kByReference = {"Band",  "Constant", "DFT", "Eye",   "Input",
                                                 "Table", "IndexMap", "Not", "Select"};

TEST(OneDnnTable, HasEveryOperatorOrSaysWhichItLacks) {
  for (const OpRow* row : operatorTable()) {
    EXPECT_NE(OneDnnModel::computes(row->name), kByReference.contains(row->name)) << row->name;
  }
}

}  // namespace
}  // namespace pet::onednn_operators_test
