// Forms: each is proved, and is not with other constants; what Winograd's magnitudes grow by is measured.

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include <gmock/gmock.h>

#include "ir/evaluate.h"
#include "ir/ops/op.h"
#include "synth/judge/pipeline.h"
#include "synth/numerics/numerics.h"
#include "synth/propose/templates/template.h"
#include "synth/propose/templates/template_generator.h"
#include "synth/prove/prove.h"
#include "tests/unit/synth_support.h"

namespace pet::synth_forms_test {
namespace {

using namespace testing_support;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> namesOf(const std::vector<Template>& forms) {
  std::vector<std::string> names;
  for (const Template& f : forms)
    names.push_back(f.family + " " + f.name);
  return names;
}

/// The program with its operators' attributes changed.
Program withAttributes(const Program& p, const std::function<void(const Node&, Attributes&)>& change) {
  ProgramBuilder b;
  std::map<Value, Value> moved;
  for (int i = 0; i < static_cast<int>(p.nodes().size()); ++i) {
    const Node& n = p.nodes()[static_cast<size_t>(i)];
    if (n.op->name == "Input") {
      moved[{i, 0}] = b.input(n.names[0], n.shapes[0], n.scalar("constant") == Expr(1));
      continue;
    }
    Attributes attributes = n.attributes;
    change(n, attributes);
    std::vector<Value> operands;
    for (Value v : n.operands)
      operands.push_back(moved.at(v));
    moved[{i, 0}] = *b.add(*n.op, operands, attributes, n.names);
  }
  return std::move(b).finish({moved.at(p.outputs()[0])});
}

/// … with the entries of its n-th Table changed.
Program withTables(const Program& p, const std::function<void(int n, std::vector<Expr>& entries)>& change) {
  int seen = 0;
  return withAttributes(p, [&](const Node& n, Attributes& attributes) {
    if (n.op->name == "Table") change(seen++, std::get<std::vector<Expr>>(attributes.find("values")->second));
  });
}

Equality equality(const Pattern& pattern, const Template& f) {
  poly::Context context(f.shapes, 4'000'000);
  EXPECT_FALSE(context.set({}, {}).isEmpty()) << f.name;
  auto source = pattern.program.substitute({f.where.begin(), f.where.end()});
  return proveEqual(context, *source, f.program);
}

std::string verdict(const Equality& e) {
  if (auto* u = std::get_if<Unknown>(&e)) return "unknown: " + u->reason;
  return std::holds_alternative<Proved>(e) ? "proved" : "outside";
}

/// A pattern "p" of a Conv over the given spatial extents.
Pattern conv(const std::string& x, const std::string& w, const std::string& attributes) {
  return pattern("pattern p { shape N C D H W F R S P Q P' Q' : 0 <= P, 0 <= Q, 0 <= P', 0 <= Q'\n x: " + x +
                 "\n w: const " + w + "\n y = Conv(x, w) " + attributes + " }");
}

struct Case {
  std::string name;
  Pattern pattern;
  std::string family;
};

std::vector<Case> convs() {
  return {
      {"plain", conv("[N, C, H, W]", "[F, C, R, S]", "pads=[P, Q, P', Q']"), "winograd"},
      {"row", conv("[N, C, W]", "[F, C, S]", "pads=[Q, Q']"), "winograd"},
      {"dilated", conv("[N, C, H, W]", "[F, C, R, S]", "dilations=[2, 2] pads=[P, Q, P, Q]"), "phases+winograd"},
      {"dilated in columns", conv("[N, C, H, W]", "[F, C, R, S]", "dilations=[1, 3] pads=[P, Q, P, Q]"),
       "phases+winograd"},
      {"frames", conv("[N, C, D, H, W]", "[F, C, 3, R, S]", "pads=[1, P, Q, 1, P, Q]"), "frames+winograd"},
      {"frames without pads", conv("[N, C, D, H, W]", "[F, C, 2, R, S]", ""), "frames+winograd"},
  };
}

TEST(Templates, OfConvsAreProved) {
  for (const Case& c : convs()) {
    auto forms = winogradTemplates(c.pattern);
    EXPECT_THAT(namesOf(forms), ElementsAre(c.family + " winograd-2-3", c.family + " winograd-4-3",
                                            c.family + " winograd-6-3", c.family + " winograd-4-5"))
        << c.name;
    for (const Template& f : forms) {
      if (f.name != "winograd-2-3" && c.name != "plain") continue;  // the others take longer: a test of the pack's
      EXPECT_EQ(verdict(equality(c.pattern, f)), "proved") << c.name << ", " << f.name;
    }
  }
}

/// Those whose first of several axes may be tiled, with the letter of that axis, and tiles and taps that it may have.
struct AxisCase {
  std::string name;
  Pattern pattern;
  std::vector<std::string> forms;
};

std::vector<AxisCase> convsOfSeveralAxes() {
  const std::vector<std::string> rows{"h-2-3", "h-4-3", "h-2-5", "h-4-5"};
  return {
      {"plain", conv("[N, C, H, W]", "[F, C, R, S]", "pads=[P, Q, P', Q']"), rows},
      {"dilated", conv("[N, C, H, W]", "[F, C, R, S]", "dilations=[3, 2] pads=[P, Q, P', Q']"), rows},
      {"dilated in columns", conv("[N, C, H, W]", "[F, C, R, S]", "dilations=[1, 3]"), rows},
      {"frames", conv("[N, C, D, H, W]", "[F, C, 3, R, S]", "pads=[1, P, Q, 1, P', Q']"), {"d-2-3", "d-4-3"}},
      {"five frames", conv("[N, C, D, H, W]", "[F, C, 5, R, S]", ""), {"d-2-5", "d-4-5"}},
      {"dilated frames",
       conv("[N, C, D, H, W]", "[F, C, 3, R, S]", "dilations=[2, 1, 3] pads=[2, P, Q, 2, P', Q']"),
       {"d-2-3", "d-4-3"}},
  };
}

TEST(Templates, OfOneAxisOfConvsAreProved) {
  for (const AxisCase& c : convsOfSeveralAxes()) {
    auto forms = winogradOfOneAxisTemplates(c.pattern);
    std::vector<std::string> names;
    for (const std::string& form : c.forms)
      names.push_back("winograd-of-one-axis winograd-" + form);
    EXPECT_EQ(namesOf(forms), names) << c.name;
    for (size_t i = 0; i < std::min<size_t>(forms.size(), c.name == "plain" ? 2 : 1); ++i)
      EXPECT_EQ(verdict(equality(c.pattern, forms[i])), "proved") << c.name << ", " << forms[i].name;
  }
}

TEST(Templates, OfOneAxisWithADamagedNumberAreNotProved) {
  Pattern p = conv("[N, C, H, W]", "[F, C, R, S]", "pads=[P, Q, P', Q']");
  const Template form = winogradOfOneAxisTemplates(p).at(1);
  int numbers = 0;
  auto damaged = [&](int which) {
    numbers = 0;
    Template result = form;
    result.program = withAttributes(form.program, [&](const Node& n, Attributes& attributes) {
      if (n.op->name == "Constant" && numbers++ == which) std::get<double>(attributes["value"]) += 1;
      if (n.op->name == "Table" && numbers++ == which) attributes["denominator"] = n.scalar("denominator") + 1;
    });
    return result;
  };
  EXPECT_EQ(verdict(equality(p, damaged(-1))), "proved");
  const int all = numbers;
  ASSERT_GT(all, 8);
  for (int which = 0; which < all; ++which)
    EXPECT_NE(verdict(equality(p, damaged(which))), "proved") << which;
}

TEST(Templates, OfRowsAsChannelsAreProved) {
  for (const char* attributes : {"pads=[P, Q, P', Q']", "dilations=[2, 1] pads=[P, Q, P, Q]"}) {
    Pattern p = conv("[N, C, H, W]", "[F, C, R, S]", attributes);
    auto forms = kernelRowTemplates(p);
    EXPECT_THAT(namesOf(forms), ElementsAre("offset-reduce rows-as-channels-1", "offset-reduce rows-as-channels-2",
                                            "offset-reduce rows-as-channels-3", "offset-reduce rows-as-channels-5"));
    for (const Template& f : forms)
      EXPECT_EQ(verdict(equality(p, f)), "proved") << attributes << ", " << f.name;
  }
  EXPECT_THAT(kernelRowTemplates(conv("[N, C, H, W]", "[F, C, R, S]", "dilations=[1, 2]")), IsEmpty());
  EXPECT_THAT(kernelRowTemplates(conv("[N, C, H, W]", "[F, C, R, S]", "strides=[2, 1]")), IsEmpty());
  EXPECT_THAT(kernelRowTemplates(conv("[N, C, W]", "[F, C, S]", "")), IsEmpty());
  EXPECT_THAT(kernelRowTemplates(conv("[N, C, D, H, W]", "[F, C, 3, R, S]", "")), IsEmpty());
}

Pattern chain(const std::string& first, const std::string& middle) {
  return pattern(
      "pattern p { shape N C H W M K F P Q P' Q' : 0 <= P, 0 <= Q, 0 <= P', 0 <= Q'\n x: [N, C, H, W]\n"
      " u: const [M, C, 2P + 1, 2Q + 1]\n a: const [M, 1, 1]\n v: const [K, M, 1, 1]\n w: const [F, K, 2P' + 1, 2Q' + "
      "1]\n"
      " t1 = Conv(x, u) pads=[P, Q, P, Q]" +
      first + "\n t2 = Add(t1, a)\n t3 = " + middle + "\n t4 = Conv(t3, v)\n y = Conv(t4, w) pads=[P', Q', P', Q'] }");
}

TEST(Templates, OfChainsInSlabsAreProved) {
  for (const char* function : {"Relu(t2)", "Tanh(t2)"}) {
    Pattern p = chain("", function);
    auto forms = kernelRowTemplates(p);
    EXPECT_THAT(namesOf(forms), ElementsAre("slabs+offset-reduce slabs-8-rows-as-channels-1",
                                            "slabs+offset-reduce slabs-8-rows-as-channels-2",
                                            "slabs+offset-reduce slabs-8-rows-as-channels-3",
                                            "slabs+offset-reduce slabs-8-rows-as-channels-5"));
    ASSERT_FALSE(forms.empty());
    EXPECT_THAT(forms[0].where, ElementsAre(std::pair<std::string, Expr>("H", Expr::variable("H8") * 8)));
    EXPECT_EQ(verdict(equality(p, forms[0])), "proved") << function;
  }
}

TEST(Templates, ChainsThatMixRowsHaveNone) {
  EXPECT_THAT(kernelRowTemplates(chain(" strides=[2, 1]", "Relu(t2)")), IsEmpty());
  EXPECT_THAT(kernelRowTemplates(chain("", "Softmax(t2) axis=2")), IsEmpty());
}

/// The same with the first slab read one row too far down.
TEST(Templates, ChainsInSlabsThatAreOffAreNotProved) {
  Pattern p = chain("", "Relu(t2)");
  Template damaged = kernelRowTemplates(p).at(0);
  bool done = false;
  damaged.program = withAttributes(damaged.program, [&](const Node& n, Attributes& attributes) {
    if (n.op->name != "Slice" || std::exchange(done, true)) return;
    for (const char* end : {"starts", "ends"})
      std::get<std::vector<Expr>>(attributes[end])[0] += 1;
  });
  EXPECT_NE(verdict(equality(p, damaged)), "proved");
}

TEST(Templates, ConvsWithoutTilesHaveNone) {
  for (auto templates : {winogradTemplates, winogradOfOneAxisTemplates}) {
    for (const char* attributes : {"strides=[2, 2]", "strides=[1, 2]"})
      EXPECT_THAT(templates(conv("[N, C, H, W]", "[F, C, R, S]", attributes)), IsEmpty()) << attributes;
    EXPECT_THAT(templates(conv("[N, (2 C), H, W]", "[(2 F), C, R, S]", "group=2")), IsEmpty());
    EXPECT_THAT(templates(pattern("matmul")), IsEmpty());
  }
  EXPECT_THAT(winogradOfOneAxisTemplates(conv("[N, C, W]", "[F, C, S]", "")), IsEmpty());  // no axis is left to Convs
  EXPECT_THAT(winogradTemplates(conv("[N, C, H, W]", "[F, C, 1, S]", "")), IsEmpty());     // no taps along the rows
  // Kernels of 5 x 5 only, and of 3 x 3 only.
  EXPECT_THAT(namesOf(winogradTemplates(conv("[N, C, H, W]", "[F, C, 5, S]", ""))),
              ElementsAre("winograd winograd-4-5"));
  EXPECT_EQ(winogradTemplates(conv("[N, C, H, W]", "[F, C, 3, 3]", "")).size(), 3U);
}

TEST(Templates, WithADamagedTableAreNotProved) {
  Pattern p = conv("[N, C, H, W]", "[F, C, R, S]", "pads=[P, Q, P', Q']");
  auto forms = winogradTemplates(p);
  ASSERT_FALSE(forms.empty());
  for (int table = 0; table < 3; ++table) {
    for (size_t entry : {size_t{0}, size_t{7}, size_t{30}}) {
      Template damaged = forms[0];
      damaged.program = withTables(damaged.program, [&](int n, std::vector<Expr>& entries) {
        if (n == table) entries[entry % entries.size()] += 1;
      });
      EXPECT_NE(verdict(equality(p, damaged)), "proved") << table << ", " << entry;
    }
  }
}

// --- Numerics ---

/// By how much the terms with one weight are larger than the weight, at most: one channel, inputs of 1, no pads.
double measuredGrowth(const Template& f, int64_t extent, int64_t taps) {
  Bindings at{{"N", 1}, {"C", 1}, {"F", 1}, {"H", extent}, {"W", extent}, {"P", 0}, {"Q", 0}, {"P'", 0}, {"Q'", 0}};
  Program p = withTables(f.program, [](int, std::vector<Expr>& entries) {
    for (Expr& e : entries)
      e = std::abs(e.constant());
  });
  Tensor<double> x({1, 1, extent, extent});
  std::fill(x.data.begin(), x.data.end(), 1);
  double most = 0;
  for (int64_t tap = 0; tap < taps * taps; ++tap) {
    Tensor<double> w({1, 1, taps, taps});
    w.data[static_cast<size_t>(tap)] = 1;
    auto y = evaluate<double>(p, at, {{"x", x}, {"w", w}});
    EXPECT_TRUE(y) << y.error().message();
    if (y) most = std::max(most, *std::max_element((*y)[0].data.begin(), (*y)[0].data.end()));
  }
  return most;
}

Numerics derived(const Pattern& pattern, const Template& f) {
  auto source = pattern.program.substitute({f.where.begin(), f.where.end()});
  EXPECT_TRUE(source);
  return numericsOf(poly::Context(f.shapes), *source, f.program);
}

TEST(Templates, GrowAsFarAsTheirNumericsSay) {
  Pattern p = conv("[N, C, H, W]", "[F, C, R, S]", "pads=[P, Q, P', Q']");
  auto forms = winogradTemplates(p);
  ASSERT_EQ(forms.size(), 4U);
  for (const Template& f : forms) {
    Numerics numerics = derived(p, f);
    EXPECT_EQ(numerics.kind, Numerics::Kind::kConditioned) << f.name;
    EXPECT_TRUE(numerics.spreadsNan);
    int64_t taps = f.name == "winograd-4-5" ? 5 : 3;
    double measured = measuredGrowth(f, 16, taps);
    EXPECT_NEAR(numerics.kappa, measured, 1e-9 * measured) << f.name;
    EXPECT_GT(numerics.kappa, 1);
  }
  Pattern q = conv("[N, C, W]", "[F, C, S]", "");
  auto rows = winogradTemplates(q);
  ASSERT_EQ(rows.size(), 4U);
  double one = derived(q, rows[1]).kappa, two = derived(p, forms[1]).kappa;
  EXPECT_NEAR(one * one, two, 1e-9 * two);
  // Of one axis of two, by sums of terms, as much as of a row by tables.
  auto sums = winogradOfOneAxisTemplates(p);
  ASSERT_EQ(sums.size(), 4U);
  for (auto [sum, row] : {std::pair(0, 0), {1, 1}, {3, 3}})
    EXPECT_NEAR(derived(p, sums[static_cast<size_t>(sum)]).kappa, derived(q, rows[static_cast<size_t>(row)]).kappa,
                1e-9)
        << sum;
}

// --- Bands ---

TEST(Templates, OfAttentionWithinABandAreProved) {
  for (const std::string name : {"attention-banded", "attention-banded-heads", "attention-banded-where",
                                 "attention-banded-rows", "banded-product"}) {
    Pattern p = pattern(name);
    auto forms = blockTemplates(p);
    ASSERT_EQ(forms.size(), 8U) << name;
    EXPECT_EQ(forms[0].name, "blocks-16-below");
    EXPECT_EQ(forms[4].name, "blocks-16");
    EXPECT_EQ(forms[0].family, name == "banded-product" ? "product-in-blocks" : "attention-in-blocks");
    for (size_t i : {0U, 4U})
      EXPECT_EQ(verdict(equality(p, forms[i])), "proved") << name << ", " << forms[i].name;
  }
}

TEST(Templates, ABandWiderThanABlockIsNotProved) {
  Pattern p = pattern("banded-product");
  for (Template f : blockTemplates(p)) {
    if (!f.name.starts_with("blocks-16")) continue;
    for (Constraint& c : f.shapes.constraints) {
      if (c == Constraint::le(Expr::variable("L"), 16)) c = Constraint::le(Expr::variable("L"), 17);
    }
    EXPECT_EQ(verdict(equality(p, f)), "outside") << f.name;
  }
}

std::string attention(const std::string& mask) {
  return "pattern p { shape B S D E L U : 0 <= L, 0 <= U\n q: [B, S, D]\n k: [B, D, S]\n v: [B, S, E]\n m: [S, S]\n"
         " s = MatMul(q, k)\n band = Band() shape=[S, S] lower=L upper=U\n zero = Constant() value=0\n"
         " one = Constant() value=1\n low = Constant() value=-10000\n hidden = Constant() value=-inf\n " +
         mask + "\n y = MatMul(a, v) }";
}

TEST(Templates, OtherMasksHaveNone) {
  for (const std::string mask : {
           "n = Where(band, zero, low)\n t = Add(s, n)\n a = Softmax(t) axis=2",     // finite
           "n = Where(band, one, hidden)\n t = Add(s, n)\n a = Softmax(t) axis=2",   // not 0 within
           "t = Where(m, s, hidden)\n a = Softmax(t) axis=2",                        // not a band
           "n = Where(band, zero, hidden)\n t = Add(s, n)\n a = Softmax(t) axis=1",  // along queries
           "a = Add(s, band)",                                                       // not a factor
       }) {
    EXPECT_THAT(blockTemplates(pattern(attention(mask))), IsEmpty()) << mask;
  }
  EXPECT_EQ(blockTemplates(pattern(attention("a = Mul(band, s)"))).size(), 8U);  // in either order
}

TEST(Templates, OfDilatedBandsAreProved) {
  for (const std::string name : {"banded-product-d2", "banded-product-d4", "banded-matrix-d2", "banded-matrix-d4"}) {
    Pattern p = pattern(name);
    auto forms = rowPhaseTemplates(p);
    ASSERT_EQ(forms.size(), 1U) << name;
    EXPECT_EQ(forms[0].family, "phases");
    EXPECT_EQ(verdict(equality(p, forms[0])), "proved") << name;
  }
  EXPECT_THAT(rowPhaseTemplates(pattern("conv-d2")), IsEmpty());
  EXPECT_THAT(rowPhaseTemplates(pattern("banded-product")), IsEmpty());
}

TEST(Templates, AreUnitsOfASearch) {
  Pattern p = pattern("banded-product-d2");
  auto generator = templateGenerator(p);
  ASSERT_TRUE(generator);
  ASSERT_EQ((*generator)->size(), 1U);
  std::vector<Judged> judged;
  (*generator)->propose(0, [&](const Candidate& c) {
    judged.push_back(Pipeline(p, {}).judge(c));
    return judged.back().isRule();
  });
  ASSERT_EQ(judged.size(), 1U);
  ASSERT_TRUE(judged[0].isRule());
  EXPECT_EQ(std::get<Rule>(judged[0].verdict).name, "banded-product-d2/phases-2");
  EXPECT_FALSE(templateGenerator(pattern("conv-s2")));
}

}  // namespace
}  // namespace pet::synth_forms_test
