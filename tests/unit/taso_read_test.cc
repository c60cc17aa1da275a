#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/taso/substitutions.h"
#include "tests/unit/taso_support.h"

namespace pet::taso::taso_read_test {
namespace {

using namespace testing_support;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const Substitution kRelu{{concat(1, 4, var(7), var(2147483647)), relu(result(0))},
                         {relu(var(7)), relu(var(2147483647)), concat(1, 4, result(0), result(1))},
                         {{1, 2, 0, 0}}};

TEST(TasoRead, ReadsWhatIsWritten) {
  const Substitution split2{{relu(var(1)), relu(var(2))},
                            {concat(0, 2, var(1), var(2)), relu(result(0)), split(0, result(1))},
                            {{0, 2, 0, 0}, {1, 2, 0, 1}}};
  auto rules = readSubstitutions(bytesOf(kRelu) + bytesOf(split2), "f");
  ASSERT_TRUE(rules) << rules.error().message();
  ASSERT_EQ(rules->size(), 2u);
  EXPECT_EQ(bytesOf((*rules)[0]), bytesOf(kRelu));
  EXPECT_EQ(bytesOf((*rules)[1]), bytesOf(split2));
  EXPECT_EQ((*rules)[0].source[0].inputs[1].op, -2147483647);
  EXPECT_EQ((*rules)[0].source[0].parameter(kAxis, -1), 1);
  EXPECT_EQ((*rules)[0].source[1].parameter(kAxis, -1), -1);
}

TEST(TasoRead, DamagedBytesAreOneError) {
  const std::string tensor = message(2, number(1, -1) + number(2, 0));
  const std::string relu1 = number(1, 8) + tensor;
  auto rule = [&](const std::string& source) { return message(1, message(1, source)); };
  const std::string output = message(3, number(1, 0) + number(2, 0) + number(3, 0) + number(4, 0));
  const struct {
    const char* name;
    std::string bytes;
    const char *where, *what;
  } kCases[] = {
      {"empty", "", "f:", "no rule"},
      {"text", "pattern conv {\n", "f: byte 2:", "which no field here has"},
      {"a key that is cut off", "\x80", "f: byte 0:", "a number that is cut off"},
      {"a length that is cut off", "\x0a\x80", "f: byte 1:", "a number that is cut off"},
      {"a length over the end", "\x0a\x05x", "f: byte 0:", "a field of 5 bytes, where 1 are left"},
      {"a length of 2^64 - 1", "\x0a" + varint(~uint64_t{0}), "f: byte 0:", "where 0 are left"},
      {"a number of 11 bytes", std::string(11, '\x80'), "f: byte 0:", "more than 64 bits"},
      {"a number of 65 bits", std::string(9, '\xff') + "\x02", "f: byte 0:", "more than 64 bits"},
      {"field 0", std::string("\x02\x00", 2), "f: byte 0:", "0 is no field number"},
      {"a 64-bit field", "\x09" + std::string(8, 'x'), "f: byte 0:", "wire type 1"},
      {"a group", "\x0b\x0c", "f: byte 0:", "wire type 3"},
      {"a 32-bit field", "\x0d" + std::string(4, 'x'), "f: byte 0:", "wire type 5"},
      {"another field of the collection", message(2, ""),
       "f: byte 0:", "a field 2 that a collection of rules does not"},
      {"a number for a rule", number(1, 5), "f: byte 0:", "a field 1 that a collection of rules does not have"},
      {"another field of a rule", message(1, message(4, "")), "f: byte 2:", "a field 4 that a rule does not have"},
      {"another field of an operator", rule(number(1, 8) + message(4, "")), "f: byte 6:", "a field 4 that an operator"},
      {"a type that is a message", rule(message(1, "")), "f: byte 4:", "a field 1 that an operator does not have"},
      {"an operator without a type", rule(tensor), "f: byte 4:", "an operator without a type"},
      {"a type twice", rule(number(1, 8) + number(1, 9)), "f: byte 6:", "a field 1 that an operator does not have"},
      {"a type of 33 bits", rule(number(1, int64_t{1} << 32)), "f: byte 4:", "no 32-bit number"},
      {"an operand without its output", rule(number(1, 8) + message(2, number(1, -1))),
       "f: byte 8:", "an operand without its field 2"},
      {"a parameter twice",
       rule(relu1 + message(3, number(1, 4) + number(2, 1)) + message(3, number(1, 4) + number(2, 1))),
       "f: byte 27:", "parameter 4 twice"},
      {"half a field in an operand", rule(number(1, 8) + message(2, "\x08")), "f: byte 9:", "a number that is cut off"},
      {"an operand that is not there yet",
       message(1, message(1, number(1, 8) + message(2, number(1, 0) + number(2, 0))) + output),
       "f: rule 0:", "operator 0 reads operator 0"},
      {"no mapped output", rule(relu1), "f: rule 0:", "no mapped output"},
      {"an output of no operator", message(1, message(1, relu1) + output), "f: rule 0:", "there is no such output"},
  };
  for (const auto& c : kCases) {
    auto rules = readSubstitutions(c.bytes, "f");
    ASSERT_FALSE(rules) << c.name;
    EXPECT_THAT(rules.error().message(),
                AllOf(StartsWith(c.where), HasSubstr(c.what), HasSubstr("not a file of TASO's substitutions")))
        << c.name;
    EXPECT_EQ(rules.error().kind, ErrorKind::kText) << c.name;
  }
}

TEST(TasoRead, NoPrefixOfARuleIsARule) {
  const std::string bytes = bytesOf(kRelu);
  for (size_t n = 0; n < bytes.size(); ++n)
    EXPECT_FALSE(readSubstitutions(bytes.substr(0, n), "f")) << n;
  EXPECT_TRUE(readSubstitutions(bytes, "f"));
}

TEST(TasoRead, AnyBitMayFlip) {
  const std::string bytes = bytesOf(kRelu);
  size_t read = 0;
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    auto rules = readSubstitutions(damaged, "f");
    read += rules.has_value();
    EXPECT_TRUE(rules || rules.error().message().starts_with("f")) << bit;
  }
  EXPECT_GT(read, 0u);  // another axis is another rule, not damage
  EXPECT_LT(read, bytes.size() * 4);
}

}  // namespace
}  // namespace pet::taso::taso_read_test
