// Einsums of two operands as products of matrices.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/ops/op.h"
#include "synth/propose/templates/template.h"
#include "tests/unit/synth_support.h"

namespace pet::synth_einsums_test {
namespace {

using ::testing::ElementsAre;
using testing_support::pattern;

std::vector<Template> templatesOf(const std::string& x, const std::string& y, const std::string& equation) {
  return definitionTemplates(pattern("pattern p { shape A B C D E\n x: [" + x + "]\n y: [" + y +
                                     "]\n z = Einsum(x, y) equation=\"" + equation + "\" }"));
}

/// The operators of the one product that broadcasts, without inputs; "" where there is none.
std::string broadcast(const std::string& x, const std::string& y, const std::string& equation) {
  for (const Template& t : templatesOf(x, y, equation)) {
    if (t.name != "by-definition-broadcast") continue;
    std::string names;
    for (const Node& n : t.program.nodes()) {
      if (!n.is(ops::kInput)) names += (names.empty() ? "" : " ") + std::string(n.op->name);
    }
    return names;
  }
  return "";
}

TEST(Einsums, AreProductsOfMatricesInSeveralWays) {
  EXPECT_THAT(testing_support::namesOf(templatesOf("A, B, C", "A, D, C", "abc,adc->abd")),
              ElementsAre("by-definition", "by-definition-exchanged"));
  EXPECT_THAT(testing_support::namesOf(templatesOf("A, B", "A, B", "ab,ab->a")),
              ElementsAre("by-definition", "by-definition-exchanged", "by-definition-summed"));
  EXPECT_THAT(testing_support::namesOf(templatesOf("A, B, C, D", "B, E, D", "abcd,bed->abce")),
              ElementsAre("by-definition", "by-definition-exchanged", "by-definition-broadcast"));
}

TEST(Einsums, OfMatricesWhereTheyLieAreOneProduct) {
  EXPECT_EQ(broadcast("A, B, C, D", "B, E, D", "abcd,bed->abce"), "Transpose MatMul");
  EXPECT_EQ(broadcast("A, B, C, D", "B, D, E", "abcd,bde->abce"), "MatMul");
  EXPECT_EQ(broadcast("A, B, C, D", "E, D, B", "abcd,edb->abce"), "Transpose MatMul");
  EXPECT_EQ(broadcast("A, B, C, D", "A, E, D", "abcd,aed->abce"), "") << "of the dimension in front";
  EXPECT_EQ(broadcast("A, B, C, D", "C, E, D", "abcd,ced->abce"), "") << "of the rows";
  EXPECT_EQ(broadcast("A, B, C, D", "A, B, E, D", "abcd,abed->abce"), "") << "of all";
  EXPECT_EQ(broadcast("A, B, C, D", "B, E, D", "abcd,bed->bace"), "") << "in another order";
  EXPECT_EQ(broadcast("A, B, C, D", "B, E", "abcd,be->abce"), "") << "of no sum";
}

}  // namespace
}  // namespace pet::synth_einsums_test
