#pragma once

#include <gtest/gtest.h>

#include "synth/free/enumerate.h"

// Vocabularies for tests of free mode.
namespace pet::testing_support {

inline freemode::Vocabulary vocabulary(const std::string& text) {
  auto v = freemode::parseVocabulary(text, "test");
  EXPECT_TRUE(v) << (v ? "" : v.error().message());
  return v ? *v : freemode::Vocabulary();
}

/// All classes of graphs of at most `size` operators.
inline freemode::ClassTable classesOf(const freemode::Vocabulary& v,
                                      int size,
                                      std::vector<freemode::Candidate>& found) {
  freemode::ClassTable table = freemode::leafClasses(v, 1);
  found = freemode::leafCandidates(table);
  for (int s = 1; s <= size; ++s)
    freemode::extend(table, found);
  return table;
}

}  // namespace pet::testing_support
