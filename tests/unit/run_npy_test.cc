// Files of numpy: what is written is read again; column-major order; what is no such file.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/run/npy.h"

namespace pet::run_npy_test {
namespace {

using ::testing::HasSubstr;

std::string file(const std::string& header, const std::string& data, char version = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += {version, '\0', static_cast<char>(header.size()), '\0'};
  if (version > 1) bytes += {'\0', '\0'};
  return bytes + header + data;
}

TEST(Npy, WhatIsWrittenIsReadAgain) {
  for (ElementType element : {ElementType::kFloat, ElementType::kDouble, ElementType::kFloat16, ElementType::kInt64,
                              ElementType::kInt32, ElementType::kInt8, ElementType::kUint8, ElementType::kBool}) {
    for (const Extents& extents : {Extents{}, Extents{2}, Extents{2, 0, 3}, Extents{1, 3, 2}}) {
      const Constant tensor{element, extents,
                            std::string(static_cast<size_t>(elementCount(extents)) * elementSize(element), 'a')};
      auto bytes = run::npyOf(tensor);
      ASSERT_TRUE(bytes.has_value());
      EXPECT_EQ((bytes->size() - tensor.bytes->size()) % 64, 0U);
      auto again = run::parseNpy(*bytes, "test");
      ASSERT_TRUE(again.has_value()) << again.error().message();
      EXPECT_EQ(again->element, element);
      EXPECT_EQ(again->extents, extents);
      EXPECT_EQ(*again->bytes, *tensor.bytes);
    }
  }
  EXPECT_FALSE(run::npyOf({ElementType::kBfloat16, {}, std::string(2, 'a')}).has_value());
}

TEST(Npy, ReadsColumns) {
  auto tensor = run::parseNpy(file("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }", "adbecf", 2), "test");
  ASSERT_TRUE(tensor.has_value()) << tensor.error().message();
  EXPECT_EQ(*tensor->bytes, "abcdef");
}

TEST(Npy, SaysWhatIsWrong) {
  const std::string right = "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }";
  const std::pair<std::string, std::string> kCases[] = {
      {"", "no .npy file"},
      {"PK\x03\x04 and more of a .npz", "no .npy file"},
      {file(right, "ab", 9), "version 9"},
      {file(right, "a"), "1 bytes of data, not 2"},
      {file(right, "abc"), "3 bytes of data, not 2"},
      {file(right, "").substr(0, 30), "truncated"},
      {file("{'descr': '>f4', 'shape': (1,), }", "abcd"), "byte order"},
      {file("{'descr': '<c8', 'shape': (1,), }", "abcdefgh"), "type"},
      {file("{'descr': [('a', '<f4')], 'shape': (1,), }", "abcd"), "type"},
      {file("{'descr': '|u1', }", "ab"), "no shape"},
      {file("{'descr': '|u1', 'shape': (-2,), }", "ab"), "no shape"},
      {file("{'descr': '|u1', 'shape': (99999999999999999999,), }", "ab"), "no shape"},
  };
  for (const auto& [bytes, said] : kCases) {
    auto tensor = run::parseNpy(bytes, "x.npy");
    ASSERT_FALSE(tensor.has_value()) << bytes;
    EXPECT_THAT(tensor.error().message(), HasSubstr(said));
  }
}

}  // namespace
}  // namespace pet::run_npy_test
