#include "applier/view/sample_sizes.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <set>

namespace pet {
namespace {

/// Small, typical and large ones.
constexpr std::array<int64_t, 3> kBatches = {1, 8, 16}, kPixels = {128, 256, 640}, kOthers = {16, 64, 256};

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

/// Symbols that say how many rows and columns an input has that looks like images: of four dimensions, with one, three
/// or four channels.
std::set<std::string> pixelsOf(const View& view) {
  std::set<std::string> pixels;
  for (Value v : view.program.inputs()) {
    const Shape& shape = view.program.shape(v);
    if (shape.size() != 4) continue;
    auto isChannels = [&](size_t d) { return shape[d] == Dim(1) || shape[d] == Dim(3) || shape[d] == Dim(4); };
    const size_t first = isChannels(1) ? 2 : isChannels(3) ? 1 : 4;
    for (size_t d = first; d < std::min<size_t>(first + 2, 4); ++d) {
      for (const Expr& atom : shape[d].atoms())
        atom.collectVariables(pixels);
    }
  }
  return pixels;
}

/// The bound of the symbol, if there is one.
int64_t boundOf(const std::map<std::string, int64_t, std::less<>>& bounds,
                const std::string& symbol,
                int64_t otherwise) {
  auto it = bounds.find(symbol);
  return it == bounds.end() ? otherwise : it->second;
}

/// One of these sizes of a symbol that nobody expects anything of, within its bounds.
int64_t usualSize(const ModelSizes& sizes, const std::string& symbol, int64_t usual, size_t i) {
  constexpr int64_t kLarge = int64_t{1} << 40;
  const int64_t least = boundOf(sizes.least(), symbol, 1), most = boundOf(sizes.most(), symbol, INT64_MAX);
  return std::min(std::max(usual, least < kLarge ? least << i : least), most);
}

/// Each choice of what is expected of these symbols.
std::vector<Bindings> combinations(const std::set<std::string>& symbols, const ExpectedSizes& expected) {
  std::vector<Bindings> all(1);
  for (const std::string& symbol : symbols) {
    auto wanted = expected.find(symbol);
    if (wanted == expected.end()) continue;
    std::vector<Bindings> longer;
    for (const Bindings& sizes : all) {
      for (int64_t value : wanted->second) {
        longer.push_back(sizes);
        longer.back().emplace(symbol, value);
      }
    }
    all = std::move(longer);
  }
  return all;
}

double volumeOf(const Bindings& sizes) {
  double volume = 1;
  for (const auto& [symbol, value] : sizes)
    volume *= static_cast<double>(value);
  return volume;
}

/// The sample with what symbols stand for that nobody chose; as it is, beyond 64 bits.
Bindings evaluated(const ModelSizes& sizes, const std::set<std::string>& symbols, Bindings sample, Bindings chosen) {
  try {
    sizes.evaluateOperations(symbols, sample);
  } catch (const OverflowError&) {
    return sample;
  }
  chosen.merge(sample);
  return chosen;
}

/// The sizes as far as they are chosen, the others as usual, or as much more as the model needs.
std::optional<Bindings> completed(const View& view, const ModelSizes& sizes, const Bindings& chosen, size_t i) {
  const std::set<std::string> symbols = symbolsOf(view), batches = batchesOf(view), pixels = pixelsOf(view);
  for (int64_t times = 1; times <= 16; times *= 2) {
    Bindings sample = chosen;
    for (const std::string& symbol : symbols) {
      const int64_t usual = batches.contains(symbol) ? kBatches[i]
                          : pixels.contains(symbol)  ? kPixels[i] * times
                                                     : kOthers[i] * times;
      if (!chosen.contains(symbol)) sample.emplace(symbol, usualSize(sizes, symbol, usual, i));
    }
    const Bindings consistent = evaluated(sizes, symbols, sample, chosen);
    if (isPossible(view, sizes, consistent)) return consistent;
    if (isPossible(view, sizes, sample)) return sample;
  }
  return std::nullopt;
}

/// The bounds' least sizes and `base` - 1 more; with `apart` odd ones, so that one size is not taken for another.
Bindings sizesAbove(const ModelSizes& sizes, const std::set<std::string>& symbols, int64_t base, bool apart) {
  Bindings result;
  std::set<int64_t> taken;
  for (const std::string& symbol : symbols) {
    int64_t value = checkedAdd(boundOf(sizes.least(), symbol, 1) - 1, base);
    if (apart) value |= 1;
    while (apart && taken.contains(value))
      value = checkedAdd(value, 2);
    taken.insert(value);
    result.emplace(symbol, std::min(value, boundOf(sizes.most(), symbol, INT64_MAX)));
  }
  return result;
}

}  // namespace

std::vector<Bindings> sampleSizes(const View& view, const ModelSizes& sizes, const ExpectedSizes& expected) {
  const std::set<std::string> symbols = symbolsOf(view);
  if (symbols.empty()) return {Bindings()};
  std::vector<Bindings> samples;
  for (const Bindings& chosen : combinations(symbols, expected)) {
    const size_t ways = chosen.size() == symbols.size() ? 1 : kOthers.size();
    for (size_t i = 0; i < ways; ++i) {
      auto sample = completed(view, sizes, chosen, i);
      if (sample && std::find(samples.begin(), samples.end(), *sample) == samples.end()) samples.push_back(*sample);
    }
  }
  std::stable_sort(samples.begin(), samples.end(),
                   [](const Bindings& a, const Bindings& b) { return volumeOf(a) < volumeOf(b); });
  return samples;
}

std::vector<Bindings> checkSizes(const View& view, const ModelSizes& sizes) {
  const std::set<std::string> symbols = symbolsOf(view);
  if (symbols.empty()) return {Bindings()};
  std::vector<Bindings> found;
  for (int64_t base : {1, 2, 3, 5, 7, 8, 13, 16, 17, 32, 33, 64, 65, 128, 129, 224, 225}) {
    Bindings candidate = sizesAbove(sizes, symbols, base, !found.empty());
    if (!isPossible(view, sizes, candidate) || (!found.empty() && found[0] == candidate)) continue;
    found.push_back(std::move(candidate));
    if (found.size() == 2) break;
  }
  if (found.empty() && !sizes.samples().empty()) found.push_back(sizes.samples().front());
  return found;
}

}  // namespace pet
