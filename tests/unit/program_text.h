#pragma once

#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "ir/text.h"

namespace pet::testing_support {

/// The program of a text; a mistake in it fails the test.
inline Program program(std::string_view text) {
  auto parsed = parseProgram(text, "test");
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().message()) << "\n" << text;
  return parsed ? std::move(*parsed) : Program();
}

}  // namespace pet::testing_support
