#pragma once

#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace pet::testing_support {

/// The contents of a file; a missing one fails the test.
inline std::string textOf(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << path;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// A file of tests/data.
inline std::string dataText(const std::string& file) {
  return textOf(PET_SOURCE_DIR + std::string("/tests/data/") + file);
}

}  // namespace pet::testing_support
