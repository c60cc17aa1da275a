#include "ir/shape.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "ir/ops/digits.h"
#include "ir/text.h"
#include "tests/unit/random_programs.h"

namespace pet::shape_test {
namespace {

using testing_support::draw;
using testing_support::drawFrom;

Dim dim(std::string_view text) {
  TextReader reader(text, "case");
  auto d = reader.dimension();
  EXPECT_TRUE(d && reader.atEnd()) << text << ": " << (d ? "" : d.error().message());
  return d ? *d : Dim(0);
}

// --- Product dimensions ---

struct Folding {
  std::string_view text, folded;
  size_t atoms;
};

const Folding kFoldings[] = {
    {"W", "W", 1},
    {"W + 2Q", "2Q + W", 1},
    {"(W)", "W", 1},
    {"()", "1", 1},
    {"(2 3)", "6", 1},
    {"(2 W)", "2W", 1},
    {"(W 2)", "2W", 1},
    {"(1 W 1)", "W", 1},
    {"(N W)", "(N W)", 2},
    {"(W N)", "(W N)", 2},  // the order is meaning
    {"(N 2W)", "(2N W)", 2},
    {"(N W 2)", "(2N W)", 2},
    {"(2 N 3 W)", "(6N W)", 2},
    {"(G 2K)", "(2G K)", 2},
    {"(N {2W + 4})", "(2N {W + 2})", 2},
    {"(N {W + 1})", "(N {W + 1})", 2},
    {"({2N + 2} W)", "({2N + 2} W)", 2},
    {"(N (W 2) (H))", "(2N W H)", 3},
    {"(N floor(W/2))", "(N floor((W)/2))", 2},
    {"(0 W)", "0", 1},
};

TEST(Dim, FoldsConstantsIntoTheFirstAtom) {
  for (const Folding& c : kFoldings) {
    Dim d = dim(c.text);
    EXPECT_EQ(d.str(), c.folded) << c.text;
    EXPECT_EQ(d.atoms().size(), c.atoms) << c.text;
    EXPECT_EQ(dim(c.folded), d) << c.text;
  }
}

TEST(Dim, SubstitutionFoldsAgain) {
  EXPECT_EQ(dim("(N W)").substitute({{"W", 3}}), dim("3N"));
  EXPECT_EQ(dim("(N W)").substitute({{"N", 1}}), dim("W"));
  EXPECT_EQ(dim("(N W H)").substitute({{"N", 2}}), dim("(2W H)"));
  EXPECT_EQ(dim("(N {W + 1})").substitute({{"W", Expr::variable("W") * 2 + 1}}), dim("(2N {W + 1})"));
  EXPECT_EQ(dim("(N W)").substitute({{"N", 2}, {"W", 3}}).asConstant(), 6);
}

TEST(Dim, EvaluatesToTheProduct) {
  EXPECT_EQ(dim("(2 N {W + 1})").evaluate({{"N", 3}, {"W", 4}}), 30);
  EXPECT_EQ(dim("(N W)").evaluate({{"N", 3}}), std::nullopt);
  EXPECT_THROW(dim("(N W)").evaluate({{"N", INT64_MAX}, {"W", 2}}), OverflowError);
}

TEST(Shape, TextEvaluationAndCount) {
  TextReader reader("[N, 2 , (N W), W - 1]", "case");
  auto s = reader.shape();
  ASSERT_TRUE(s);
  EXPECT_EQ(str(*s), "[N, 2, (N W), W - 1]");
  EXPECT_EQ(evaluate(*s, {{"N", 2}, {"W", 3}}), (Extents{2, 2, 6, 2}));
  EXPECT_EQ(evaluate(*s, {{"N", 2}}), std::nullopt);
  EXPECT_EQ(str(substitute(*s, {{"W", 5}})), "[N, 2, 5N, 4]");
  EXPECT_EQ(elementCount({2, 3, 4}), 24);
  EXPECT_EQ(elementCount({}), 1);
  EXPECT_EQ(elementCount({3, 0}), 0);
  EXPECT_THROW(elementCount({INT64_MAX, 2}), OverflowError);
  EXPECT_EQ(str(Extents{1, 20}), "[1, 20]");
}

TEST(ShapeClass, HoldsEachConstraintOnce) {
  ShapeClass c;
  c.symbols = {"W", "Q"};
  Expr w = Expr::variable("W"), q = Expr::variable("Q");
  c.require(Constraint::le(q, w));
  c.require(Constraint::le(q, w));
  c.require(Constraint::le(0, 1));  // holds for constants
  EXPECT_EQ(c.constraints.size(), 1U);
  c.require(Constraint::le(1, 0));  // the empty class is one, too
  EXPECT_EQ(c.constraints.size(), 2U);
  c.constraints.pop_back();
  EXPECT_TRUE(c.contains({{"W", 2}, {"Q", 2}}));
  EXPECT_FALSE(c.contains({{"W", 2}, {"Q", 3}}));
  EXPECT_FALSE(c.contains({{"W", 2}}));
}

// --- Digits: splitDigits and joinDigits against counting ---

/// The digits of flat position `p` in mixed radix, outermost first.
std::vector<int64_t> digitsOf(int64_t p, const Extents& radices) {
  std::vector<int64_t> digits(radices.size());
  for (size_t i = radices.size(); i-- > 0;) {
    digits[i] = p % radices[i];
    p /= radices[i];
  }
  return digits;
}

Extents atomsAt(const std::vector<Dim>& dims, const Bindings& symbols) {
  Extents extents;
  for (const Dim& d : dims) {
    for (const Expr& atom : d.atoms())
      extents.push_back(atom.evaluate(symbols).value());
  }
  return extents;
}

/// Variables d0, d1, … for the digits of `dims`, bound to the digits of position p.
Index namedDigits(const std::vector<Dim>& dims, const Bindings& symbols, int64_t p, Bindings& bound) {
  Index names;
  std::vector<int64_t> digits = digitsOf(p, atomsAt(dims, symbols));
  size_t next = 0;
  for (const Dim& d : dims) {
    names.emplace_back();
    for (size_t a = 0; a < d.atoms().size(); ++a, ++next) {
      std::string name = "d" + std::to_string(next);
      names.back().push_back(Expr::variable(name));
      bound[name] = digits[next];
    }
  }
  return names;
}

/// Exactly one case holds at the binding; its digits, flat.
std::vector<int64_t> onlyCase(const std::vector<DigitCase>& cases, const Bindings& bound) {
  std::vector<int64_t> digits;
  int holding = 0;
  for (const DigitCase& c : cases) {
    bool holds =
        std::all_of(c.guards.begin(), c.guards.end(), [&](const Constraint& g) { return g.evaluate(bound).value(); });
    if (!holds) continue;
    ++holding;
    digits.clear();
    for (const auto& dimension : c.digits) {
      for (const Expr& e : dimension)
        digits.push_back(e.evaluate(bound).value());
    }
  }
  EXPECT_EQ(holding, 1);
  return digits;
}

::testing::AssertionResult digitsAgree(const std::vector<Dim>& axes, const Bindings& symbols) {
  std::vector<Dim> product{Dim::product(axes)};
  int64_t count = product[0].evaluate(symbols).value();
  auto failure = [&](const char* what, int64_t p) {
    return ::testing::AssertionFailure() << what << " of " << str(axes) << " at position " << p;
  };
  for (int64_t p = 0; p < count; ++p) {
    Bindings bound = symbols;
    Index names = namedDigits(product, symbols, p, bound);
    if (onlyCase(splitDigits(axes, names[0]), bound) != digitsOf(p, atomsAt(axes, symbols))) return failure("split", p);
    bound = symbols;
    names = namedDigits(axes, symbols, p, bound);
    if (onlyCase(joinDigits(axes, names), bound) != digitsOf(p, atomsAt(product, symbols))) return failure("join", p);
  }
  return ::testing::AssertionSuccess();
}

TEST(Digits, SplitAndJoinCount) {
  const std::vector<std::vector<std::string_view>> kAxes = {
      {"W"},
      {"2", "W"},
      {"W", "2"},
      {"N", "W"},
      {"N", "W", "2"},
      {"N", "2W"},
      {"G", "2K"},
      {"3", "N", "2", "W"},
      {"2", "3"},
      {"2", "N", "3"},
      {"N", "4W"},
      {"(N W)", "2"},
      {"(N 2W)"},
      {"2", "(N 2W)"},
      {"1", "W", "1"},
      {"6W", "K"},
      {"N", "2", "W", "3", "K"},
      {"N", "6W", "2K"},
      {"N + 1", "2W + 2"},
      {"2", "{W + 1}", "N", "2"},
      {"N", "(W 2 K)", "3"},
  };
  for (const auto& texts : kAxes) {
    std::vector<Dim> axes;
    axes.reserve(texts.size());
    for (auto t : texts)
      axes.push_back(dim(t.front() == '{' ? t.substr(1, t.size() - 2) : t));
    for (int64_t n : {1, 2, 3}) {
      for (int64_t w : {1, 2, 3}) {
        Bindings symbols{{"N", n}, {"G", n}, {"W", w}, {"K", 4 - w}};
        EXPECT_TRUE(digitsAgree(axes, symbols)) << str(Extents{n, w});
      }
    }
  }
}

RC_GTEST_PROP(DigitsProperty, SplitAndJoinCount, ()) {
  std::vector<Dim> axes;
  Bindings symbols{{"N", draw(1, 3)}, {"W", draw(1, 3)}, {"K", draw(1, 3)}};
  for (int64_t i = draw(1, 4); i-- > 0;) {
    Expr symbol = Expr::variable(drawFrom<std::string>({"N", "W", "K"}));
    axes.push_back(drawFrom<Dim>(
        {1, 2, 3, symbol, symbol * 2, symbol * 3, symbol + 1, Dim::product({symbol, Expr::variable("W")})}));
  }
  RC_PRE(Dim::product(axes).evaluate(symbols).value() <= 300);
  try {
    RC_ASSERT(digitsAgree(axes, symbols));
  } catch (const TooManyCases&) {
    RC_DISCARD("a limit");
  }
}

TEST(Digits, DivideByOuterAndInner) {
  struct Case {
    std::string_view dim, divisor, byOuter, byInner;  // "-": no such form
  };
  const Case kCases[] = {
      {"2W", "2", "W", "W"},          {"2W", "W", "2", "2"},  // (W 2) and (2 W) are 2W
      {"6W", "2", "3W", "3W"},        {"W", "2", "-", "-"},       {"(N W)", "N", "W", "-"},
      {"(N W)", "W", "-", "N"},       {"(2N W)", "N", "2W", "-"}, {"(2N W)", "2", "(N W)", "(N W)"},
      {"(2N W)", "2N", "W", "-"},     {"(2N W)", "2W", "-", "N"}, {"(N W)", "1", "(N W)", "(N W)"},
      {"(N W H)", "H", "-", "(N W)"}, {"(N W)", "(N)", "W", "-"}, {"(N {W + 1})", "W + 1", "-", "N"},
      {"6", "3", "2", "2"},           {"6", "4", "-", "-"},       {"W", "W", "1", "1"},
      {"W + 1", "W", "-", "-"},
  };
  auto text = [](const std::optional<Dim>& d) { return d ? d->str() : "-"; };
  for (const Case& c : kCases) {
    Dim d = dim(c.dim);
    Expr g = dim(c.divisor).affine();
    auto outer = divideByOuter(d, g), inner = divideByInner(d, g);
    EXPECT_EQ(text(outer), c.byOuter) << c.dim << " by outer " << c.divisor;
    EXPECT_EQ(text(inner), c.byInner) << c.dim << " by inner " << c.divisor;
    EXPECT_TRUE(!outer || Dim::product({g, *outer}) == d) << c.dim;
    EXPECT_TRUE(!inner || Dim::product({*inner, g}) == d) << c.dim;
  }
}

}  // namespace
}  // namespace pet::shape_test
