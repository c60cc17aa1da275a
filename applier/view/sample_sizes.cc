#include "applier/view/sample_sizes.h"

#include <algorithm>
#include <array>

namespace pet {
namespace {

constexpr std::array<int64_t, 3> kBatches = {1, 8, 16}, kOthers = {16, 64, 256};

bool isPossible(const View& view, const ModelSizes& sizes, const Bindings& sample) {
  try {
    return sizes.isAdmissible(sample) && boundTo(view, sample).has_value();
  } catch (const OverflowError&) {
    return false;
  }
}

/// Symbols that are first dimensions of inputs, and nothing else of them.
std::set<std::string> batchesOf(const View& view) {
  std::set<std::string> first = symbolsOf(view);
  for (Value v : view.program.inputs()) {
    const Shape& shape = view.program.shape(v);
    for (size_t d = 0; d < shape.size(); ++d) {
      for (const Expr& atom : shape[d].atoms()) {
        for (const std::string& symbol : atom.variables()) {
          if (d > 0) first.erase(symbol);
        }
      }
    }
  }
  return first;
}

int64_t atLeast(const ModelSizes& sizes, const std::string& symbol, int64_t value) {
  auto it = sizes.least().find(symbol);
  return it == sizes.least().end() ? value : std::max(value, it->second);
}

}  // namespace

std::vector<Bindings> sampleSizes(const View& view, const ModelSizes& sizes, const ExpectedSizes& expected) {
  const std::set<std::string> symbols = symbolsOf(view), batches = batchesOf(view);
  if (symbols.empty()) return {Bindings()};
  size_t count = 0;
  for (const auto& [symbol, values] : expected) {
    if (symbols.contains(symbol)) count = std::max(count, values.size());
  }
  if (count == 0) count = kOthers.size();
  std::vector<Bindings> samples;
  for (size_t i = 0; i < count; ++i) {
    for (int64_t times = 1; times <= 16; times *= 2) {
      Bindings sample;
      for (const std::string& symbol : symbols) {
        auto wanted = expected.find(symbol);
        const auto& usual = batches.contains(symbol) ? kBatches : kOthers;
        int64_t value = usual[std::min(i, usual.size() - 1)] * (batches.contains(symbol) ? 1 : times);
        if (wanted != expected.end()) value = wanted->second[std::min(i, wanted->second.size() - 1)];
        sample.emplace(symbol, atLeast(sizes, symbol, value));
      }
      if (!isPossible(view, sizes, sample)) continue;
      if (std::find(samples.begin(), samples.end(), sample) == samples.end()) samples.push_back(std::move(sample));
      break;
    }
  }
  return samples;
}

std::vector<Bindings> checkSizes(const View& view, const ModelSizes& sizes) {
  const std::set<std::string> symbols = symbolsOf(view);
  if (symbols.empty()) return {Bindings()};
  std::vector<Bindings> found;
  for (int64_t base : {1, 2, 3, 5, 7, 8, 13, 16, 17, 32, 33, 64, 65, 128, 129, 224, 225}) {
    bool odd = base % 2 == 1;
    if (found.size() == 1 && !odd) continue;
    Bindings candidate;
    int64_t apart = 0;  // so that one size is not taken for another
    for (const std::string& symbol : symbols) {
      candidate.emplace(symbol, atLeast(sizes, symbol, base + apart));
      apart += found.size() == 1 ? 2 : 0;
    }
    if (!isPossible(view, sizes, candidate)) continue;
    if (found.empty() || found.back() != candidate) found.push_back(std::move(candidate));
    if (found.size() == 2) break;
  }
  if (found.empty() && !sizes.samples().empty()) found.push_back(sizes.samples().front());
  return found;
}

}  // namespace pet
