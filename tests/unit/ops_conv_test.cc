// Conv, ConvTranspose and pools against loops over the definition, over exact types.

#include <functional>
#include <random>

#include <gtest/gtest.h>

#include "ir/evaluate.h"
#include "ir/ops/op.h"
#include "tests/unit/access_check.h"

namespace pet::ops_conv_test {
namespace {

struct Window {
  Extents kernel, strides, dilations, pads;
  int64_t group = 1;
  Extents extra = {};  ///< ConvTranspose's output_padding

  Attributes attributes() const {
    auto list = [](const Extents& e) { return std::vector<Expr>(e.begin(), e.end()); };
    return {{"strides", list(strides)}, {"dilations", list(dilations)}, {"pads", list(pads)}};
  }
};

Shape shapeOf(const Extents& e) {
  return Shape(e.begin(), e.end());
}

template <class T>
Tensor<T> smallIntegers(const Extents& extents, uint64_t seed) {
  std::mt19937_64 random(seed);
  Tensor<T> t(extents);
  for (T& v : t.data)
    v = T(static_cast<int64_t>(random() % 13) - 6);
  return t;
}

/// All positions of a box, row-major.
void eachPosition(const Extents& extents, const std::function<void(const Extents&)>& visit) {
  Extents at(extents.size());
  for (int64_t i = 0; i < elementCount(extents); ++i) {
    visit(at);
    for (size_t d = at.size(); d-- > 0;) {
      if (++at[d] < extents[d]) break;
      at[d] = 0;
    }
  }
}

template <class T>
T& element(Tensor<T>& t, const Extents& at) {
  int64_t offset = 0;
  for (size_t d = 0; d < at.size(); ++d)
    offset = offset * t.extents[d] + at[d];
  return t.data[static_cast<size_t>(offset)];
}

Extents joined(Extents a, const Extents& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// Visits every (position in the sliding side, tap, position in the other side) that exists.
void eachTap(const Window& w,
             const Extents& windows,
             const Extents& under,
             const std::function<void(const Extents& window, const Extents& tap, const Extents& at)>& visit) {
  eachPosition(windows, [&](const Extents& o) {
    eachPosition(w.kernel, [&](const Extents& r) {
      Extents i;
      for (size_t d = 0; d < o.size(); ++d) {
        i.push_back(o[d] * w.strides[d] + r[d] * w.dilations[d] - w.pads[d]);
        if (i[d] < 0 || i[d] >= under[d]) return;
      }
      visit(o, r, i);
    });
  });
}

Extents spatial(const Extents& e) {
  return Extents(e.begin() + 2, e.end());
}

template <class T>
Tensor<T> evaluated(std::string_view op, const Attributes& attributes, const std::vector<Tensor<T>>& operands) {
  ProgramBuilder builder;
  std::vector<Value> values;
  std::map<std::string, Tensor<T>> inputs;
  for (const Tensor<T>& t : operands) {
    std::string name = "x" + std::to_string(values.size());
    values.push_back(builder.input(name, shapeOf(t.extents)));
    inputs[name] = t;
  }
  auto y = builder.add(op, values, attributes);
  EXPECT_TRUE(y) << (y ? "" : y.error().message());
  auto result = evaluate<T>(std::move(builder).finish({*y}), {}, inputs);
  EXPECT_TRUE(result) << (result ? "" : result.error().message());
  return (*result)[0];
}

template <class T>
void checkConv(const Extents& xExtents, int64_t filters, const Window& w) {
  auto x = smallIntegers<T>(xExtents, 1);
  int64_t channels = xExtents[1] / w.group, perGroup = filters / w.group;
  auto k = smallIntegers<T>(joined({filters, channels}, w.kernel), 2);
  Attributes attributes = w.attributes();
  attributes["group"] = Expr(w.group);
  Tensor<T> y = evaluated<T>("Conv", attributes, {x, k}), want(y.extents);
  eachTap(w, spatial(y.extents), spatial(x.extents), [&](const Extents& o, const Extents& r, const Extents& i) {
    eachPosition({xExtents[0], filters, channels}, [&](const Extents& nfc) {
      int64_t c = nfc[1] / perGroup * channels + nfc[2];
      T& to = element(want, joined({nfc[0], nfc[1]}, o));
      to = to + element(x, joined({nfc[0], c}, i)) * element(k, joined({nfc[1], nfc[2]}, r));
    });
  });
  EXPECT_EQ(y, want) << str(xExtents) << " " << filters << " kernel " << str(w.kernel) << " strides " << str(w.strides);
}

template <class T>
void checkConvTranspose(const Extents& xExtents, int64_t perGroup, const Window& w) {
  auto x = smallIntegers<T>(xExtents, 1);
  int64_t channels = xExtents[1] / w.group;
  auto k = smallIntegers<T>(joined({xExtents[1], perGroup}, w.kernel), 2);
  Attributes attributes = w.attributes();
  attributes["group"] = Expr(w.group);
  if (!w.extra.empty()) attributes["output_padding"] = std::vector<Expr>(w.extra.begin(), w.extra.end());
  Tensor<T> y = evaluated<T>("ConvTranspose", attributes, {x, k}), want(y.extents);
  eachTap(w, spatial(x.extents), spatial(y.extents), [&](const Extents& i, const Extents& r, const Extents& o) {
    eachPosition({xExtents[0], xExtents[1], perGroup}, [&](const Extents& ncf) {
      int64_t f = ncf[1] / channels * perGroup + ncf[2];
      T& to = element(want, joined({ncf[0], f}, o));
      to = to + element(x, joined({ncf[0], ncf[1]}, i)) * element(k, joined({ncf[1], ncf[2]}, r));
    });
  });
  EXPECT_EQ(y, want) << str(xExtents) << " " << perGroup << " kernel " << str(w.kernel) << " strides "
                     << str(w.strides);
}

struct Case {
  Extents x;
  int64_t filters;
  Window window;
};

const Case kCases[] = {
    {{2, 3, 5}, 4, {{3}, {1}, {1}, {1, 1}}},
    {{1, 2, 9}, 2, {{4}, {3}, {2}, {5, 2}}},
    {{2, 4, 6, 7}, 6, {{3, 2}, {2, 1}, {1, 3}, {1, 0, 2, 3}, 2}},
    {{1, 5, 4, 4}, 5, {{3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 5}},
    {{3, 2, 3, 5}, 3, {{1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}}},
    {{1, 2, 3, 5}, 3, {{1, 1}, {2, 3}, {1, 1}, {0, 1, 1, 0}}},
    {{1, 2, 1, 1}, 2, {{3, 3}, {1, 1}, {1, 1}, {2, 1, 1, 2}}},
    {{1, 2, 3, 4, 5}, 2, {{2, 3, 2}, {1, 2, 2}, {2, 1, 1}, {1, 1, 0, 0, 1, 1}}},
    {{0, 2, 3, 5}, 3, {{2, 2}, {1, 1}, {1, 1}, {0, 0, 0, 0}}},
    {{2, 0, 3, 5}, 3, {{2, 2}, {1, 1}, {1, 1}, {0, 0, 0, 0}}},
    {{2, 2, 0, 5}, 3, {{1, 2}, {1, 1}, {1, 1}, {1, 0, 1, 0}}},
    {{2, 2, 3, 5}, 0, {{2, 2}, {1, 1}, {1, 1}, {0, 0, 0, 0}}},
    {{1, 41, 17, 16}, 1, {{5, 5}, {1, 1}, {1, 1}, {2, 2, 2, 2}}},  // several stretches of output positions
};

TEST(OpsConv, EqualsItsDefinition) {
  for (const Case& c : kCases) {
    checkConv<Fp>(c.x, c.filters, c.window);
    checkConv<int64_t>(c.x, c.filters, c.window);
    checkConv<float>(c.x, c.filters, c.window);
    checkConv<double>(c.x, c.filters, c.window);
  }
}

const Case kTransposed[] = {
    {{2, 3, 5}, 4, {{3}, {1}, {1}, {1, 1}}},
    {{1, 2, 4}, 2, {{4}, {3}, {2}, {2, 1}, 1, {2}}},
    {{2, 4, 3, 2}, 3, {{3, 2}, {2, 1}, {1, 3}, {1, 0, 2, 3}, 2, {1, 0}}},
    {{1, 2, 2, 3, 2}, 2, {{2, 3, 2}, {1, 2, 2}, {2, 1, 1}, {1, 1, 0, 0, 1, 1}}},
    {{1, 2, 3, 3}, 2, {{1, 1}, {2, 2}, {1, 1}, {0, 0, 0, 0}, 1, {1, 1}}},
    {{1, 0, 3, 3}, 2, {{2, 2}, {2, 2}, {1, 1}, {0, 0, 0, 0}}},
    {{1, 2, 3, 3}, 0, {{2, 2}, {2, 2}, {1, 1}, {0, 0, 0, 0}}},
    {{1, 1, 17, 16}, 41, {{5, 5}, {2, 2}, {1, 1}, {2, 2, 1, 1}, 1, {1, 0}}},
};

TEST(OpsConvTranspose, EqualsItsDefinition) {
  for (const Case& c : kTransposed) {
    checkConvTranspose<Fp>(c.x, c.filters, c.window);
    checkConvTranspose<int64_t>(c.x, c.filters, c.window);
    checkConvTranspose<float>(c.x, c.filters, c.window);
    checkConvTranspose<double>(c.x, c.filters, c.window);
  }
}

TEST(OpsPool, EqualsItsDefinition) {
  for (const Case& c : kCases) {
    const Window& w = c.window;
    if (elementCount(c.x) == 0) continue;
    auto x = smallIntegers<double>(c.x, 1);
    Attributes attributes = w.attributes();
    attributes["kernel_shape"] = std::vector<Expr>(w.kernel.begin(), w.kernel.end());
    Tensor<double> greatest = evaluated<double>("MaxPool", attributes, {x});
    attributes["count_include_pad"] = Expr(0);
    Tensor<double> mean = evaluated<double>("AveragePool", attributes, {x});
    attributes["count_include_pad"] = Expr(1);
    Tensor<double> padded = evaluated<double>("AveragePool", attributes, {x});
    Tensor<double> top(mean.extents), sum(mean.extents), count(mean.extents);
    std::fill(top.data.begin(), top.data.end(), -std::numeric_limits<double>::infinity());
    eachTap(w, spatial(mean.extents), spatial(c.x), [&](const Extents& o, const Extents&, const Extents& i) {
      eachPosition({c.x[0], c.x[1]}, [&](const Extents& nc) {
        double value = element(x, joined(nc, i));
        element(top, joined(nc, o)) = std::max(element(top, joined(nc, o)), value);
        element(sum, joined(nc, o)) += value;
        element(count, joined(nc, o)) += 1;
      });
    });
    EXPECT_EQ(greatest, top) << str(c.x);
    for (size_t i = 0; i < sum.data.size(); ++i) {
      if (count.data[i] > 0) {
        EXPECT_EQ(mean.data[i], sum.data[i] / count.data[i]) << str(c.x);
      }
      EXPECT_EQ(padded.data[i], sum.data[i] / static_cast<double>(elementCount(w.kernel))) << str(c.x);
    }
  }
}

// Every small window in one dimension: the access relations agree with the kernels.
TEST(OpsConv, AccessOfEverySmallWindow) {
  int checked = 0;
  for (int64_t in = 1; in <= 5; ++in) {
    for (int64_t kernel = 1; kernel <= 3; ++kernel) {
      for (int64_t stride = 1; stride <= 3; ++stride) {
        for (int64_t dilation = 1; dilation <= 2; ++dilation) {
          for (int64_t begin = 0; begin <= 2; ++begin) {
            for (int64_t end = 0; end <= 2; ++end) {
              std::vector<Expr> kernels{kernel}, strides{stride}, dilations{dilation}, pads{begin, end};
              Attributes window{{"strides", strides}, {"dilations", dilations}, {"pads", pads}};
              Attributes shaped = window;
              shaped.emplace("kernel_shape", kernels);
              Attributes counted = shaped;
              counted.emplace("count_include_pad", Expr(1));
              ProgramBuilder b;
              Value x = b.input("x", {2, 2, in}), w = b.input("w", {2, 2, kernel}),
                    t = b.input("t", {1, 2 * kernel, in});
              int64_t reach = (kernel - 1) * dilation;
              if (in + begin + end > reach) {
                ASSERT_TRUE(b.add("Conv", {x, w}, window));
                ASSERT_TRUE(b.add("OffsetReduce", {t}, shaped));
                if (begin <= reach && end <= reach && (dilation <= in || begin + end == 0)) {
                  ASSERT_TRUE(b.add("AveragePool", {x}, counted));
                }
              }
              if ((in - 1) * stride + reach + 1 > begin + end) {
                ASSERT_TRUE(b.add("ConvTranspose", {x, w}, window));
              }
              Program program = std::move(b).finish({x});
              EXPECT_TRUE(testing_support::accessMatchesKernels(program, {}));
              checked += static_cast<int>(program.nodes().size()) - 3;
            }
          }
        }
      }
    }
  }
  EXPECT_GT(checked, 2000);
}

}  // namespace
}  // namespace pet::ops_conv_test
