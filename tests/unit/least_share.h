#pragma once

#include <gtest/gtest.h>

namespace pet::testing_support {

/// A property says nothing where few of the random cases reach what it is about. It counts them here, and fails behind
/// its last case where too few did, or where hardly any case got so far as to be counted. `Of` tells the counts of
/// different properties apart.
template <class Of>
class LeastShare : public ::testing::Test {
 public:
  static void TearDownTestSuite() {
    EXPECT_GE(cases_, kLeastCases) << "cases that count";
    EXPECT_GE(100 * reached_, Of::kLeastPercent * cases_) << reached_ << " of " << cases_ << " cases " << Of::kWhat;
  }

 protected:
  static void count(bool reached) {
    ++cases_;
    reached_ += reached ? 1 : 0;
  }

 private:
  static constexpr int kLeastCases = 20;  ///< of the 100 that a property has
  static inline int cases_ = 0, reached_ = 0;
};

}  // namespace pet::testing_support
