// Attention in blocks of queries: their scores, softmax and product with the values, while the scores are in the
// second-level cache.

#include "runtime/onednn/lower_attention.h"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>

#include "ir/quick_math.h"
#include "ir/wide_loops.h"

namespace pet::onednn {
namespace {

using dnnl::memory;

/// x = exp(v - max v), v = x scale + term; `term` may be null. Returns Σ x. In lanes, so that they become vectors.
PET_WIDE_LOOPS float exponentials(float* x, const float* term, float scale, int64_t count) {
  constexpr int64_t kSums = 16;
  float most[kSums], sums[kSums] = {};
  std::fill_n(most, kSums, -std::numeric_limits<float>::infinity());
  const int64_t whole = count / kSums * kSums;
  if (term) {
    for (int64_t i = 0; i < count; ++i)
      x[i] = x[i] * scale + term[i];
  } else {
    for (int64_t i = 0; i < count; ++i)
      x[i] *= scale;
  }
  for (int64_t i = 0; i < whole; i += kSums) {
    for (int64_t lane = 0; lane < kSums; ++lane)
      most[lane] = x[i + lane] > most[lane] ? x[i + lane] : most[lane];
  }
  float largest = *std::max_element(most, most + kSums);
  for (int64_t i = whole; i < count; ++i)
    largest = std::max(largest, x[i]);
  for (int64_t i = 0; i < whole; i += kSums) {
    for (int64_t lane = 0; lane < kSums; ++lane) {
      x[i + lane] = quickExp(x[i + lane] - largest);
      sums[lane] += x[i + lane];
    }
  }
  float sum = 0;
  for (int64_t i = whole; i < count; ++i) {
    x[i] = quickExp(x[i] - largest);
    sum += x[i];
  }
  for (float lane : sums)
    sum += lane;
  return sum;
}

/// A matrix for each of several, where they lie in a buffer.
struct Matrices {
  Place place;
  std::vector<int64_t> offsets;  ///< of each
  int64_t row = 0, column = 0;   ///< steps
};

/// The strides of an access' last two dimensions.
std::optional<std::vector<int64_t>> matrixStrides(const Access& access) {
  const size_t r = access.rank();
  return stridesOf({0, {access.tables[r - 2], access.tables[r - 1]}, 0});
}

/// One matrix for each position of `batch`, which what is in front of the place's matrices broadcasts to.
Matrices spread(Place there, const Extents& batch) {
  const auto steps = *matrixStrides(there.access);
  const Extents extents = there.access.extents();
  Extents all = batch;
  all.insert(all.end(), extents.end() - 2, extents.end());
  const Access access = broadcast(there.access, all);
  std::vector<const std::vector<int64_t>*> tables;
  for (size_t d = 0; d < batch.size(); ++d)
    tables.push_back(&access.tables[d]);
  Matrices result{std::move(there), tables.empty() ? std::vector<int64_t>{0} : merged(tables), steps[0], steps[1]};
  for (int64_t& offset : result.offsets)
    offset += access.offset;
  return result;
}

/// The value's matrices; copied where rows and columns are not at equal distances, or neither are neighbours.
Matrices matricesOf(Planner& p, Value v, const Extents& batch) {
  Place there = p.place(v);
  const auto strides = there.access.fills() ? std::nullopt : matrixStrides(there.access);
  const bool isTaken = strides && ((*strides)[0] == 1 || (*strides)[1] == 1);
  if (!isTaken) there = p.as(v, rowMajor(there.access.extents()));
  return spread(std::move(there), batch);
}

/// What is added to the scores: rows of keys that lie side by side.
struct Terms {
  std::shared_ptr<const Tensor<float>> constant;  ///< null: a value of the program, or nothing
  Matrices rows;
};

struct Sizes {
  int64_t queries, keys, size, values;  ///< size: of a query; values: of a value
};

/// Queries of a block: as many as leave their scores in half of the second-level cache.
int64_t queriesOfBlock(const Sizes& s) {
  constexpr int64_t kScores = 1 << 17, kFewest = 16;
  return std::min(s.queries, std::max(kFewest, kScores / s.keys / kFewest * kFewest));
}

class AttentionStep final : public plan::Step {
 public:
  AttentionStep(Planner& p, const Sizes& shape, float scale, Matrices q, Matrices k, Matrices v, Matrices y)
      : shape_(shape),
        scale_(scale),
        block_(queriesOfBlock(shape)),
        threads_(p.options().threads),
        q_(std::move(q)),
        k_(std::move(k)),
        v_(std::move(v)),
        y_(std::move(y)),
        stream_(p.stream()),
        whole_(p, *this, block_),
        rest_(p, *this, shape.queries % block_ == 0 ? block_ : shape.queries % block_),
        packedKeys_(whole_.scores.weights_desc(), p.engine(), DNNL_MEMORY_NONE),
        packedValues_(whole_.sums.weights_desc(), p.engine(), DNNL_MEMORY_NONE),
        keys_(matrix(shape.size, shape.keys, k_), p.engine(), DNNL_MEMORY_NONE),
        values_(matrix(shape.keys, shape.values, v_), p.engine(), DNNL_MEMORY_NONE),
        packKeys_(dnnl::reorder::primitive_desc(p.engine(), keys_.get_desc(), p.engine(), packedKeys_.get_desc())),
        packValues_(
            dnnl::reorder::primitive_desc(p.engine(), values_.get_desc(), p.engine(), packedValues_.get_desc())) {
    auto floats = [](const memory::desc& desc) { return static_cast<int64_t>(desc.get_size() + 3) / 4 + 1; };
    int64_t scratchpad = 1;
    for (const BlockProducts* products : {&whole_, &rest_})
      scratchpad =
          std::max({scratchpad, floats(products->scores.scratchpad_desc()), floats(products->sums.scratchpad_desc())});
    buffers = {q_.place.buffer,
               k_.place.buffer,
               v_.place.buffer,
               y_.place.buffer,
               p.createBuffer(floats(packedKeys_.get_desc())),
               p.createBuffer(floats(packedValues_.get_desc())),
               p.createBuffer(block_ * shape.keys),
               p.createBuffer(block_),
               p.createBuffer(scratchpad)};
  }

  /// The primitives are oneDNN's optimised ones, and pack their operands the same way.
  bool isOptimised() const {
    return onednn::isOptimised(whole_.scores.impl_info_str()) && onednn::isOptimised(whole_.sums.impl_info_str()) &&
           onednn::isOptimised(rest_.scores.impl_info_str()) && onednn::isOptimised(rest_.sums.impl_info_str());
  }
  std::string name() const override { return whole_.scores.impl_info_str(); }
  void add(Terms terms) {
    terms_ = std::move(terms);
    if (!terms_->constant) buffers.push_back(terms_->rows.place.buffer);
  }

  void bind(const Pointers& pointers) override {
    at_.clear();
    for (int b : buffers)
      at_.push_back(floatsAt(pointers, b));
    packedKeys_.set_data_handle(at_[kPackedKeys]);
    packedValues_.set_data_handle(at_[kPackedValues]);
    for (BlockProducts* products : {&whole_, &rest_})
      products->bind(at_[kScores], at_[kScratchpad]);
  }

  void run() override {
    for (size_t b = 0; b < y_.offsets.size(); ++b) {
      keys_.set_data_handle(at_[kK] + k_.offsets[b]);
      values_.set_data_handle(at_[kV] + v_.offsets[b]);
      execute(packKeys_, {{DNNL_ARG_FROM, keys_.get()}, {DNNL_ARG_TO, packedKeys_.get()}});
      execute(packValues_, {{DNNL_ARG_FROM, values_.get()}, {DNNL_ARG_TO, packedValues_.get()}});
      for (int64_t first = 0; first < shape_.queries; first += block_)
        runBlock(first + block_ <= shape_.queries ? whole_ : rest_, b, first);
    }
  }

 private:
  enum Buffers { kQ, kK, kV, kY, kPackedKeys, kPackedValues, kScores, kRowSums, kScratchpad, kTerms };

  static memory::desc matrix(int64_t rows, int64_t columns, const Matrices& m) {
    return {{rows, columns}, kF32, memory::dims{m.row, m.column}};
  }

  /// The two products of a block of so many queries.
  struct BlockProducts {
    int64_t queries;
    dnnl::matmul::primitive_desc scores, sums;
    dnnl::matmul byKeys, byValues;
    memory q, s, y, scratchpad;

    BlockProducts(const Planner& p, const AttentionStep& a, int64_t count)
        : queries(count),
          scores(describe(p,
                          matrix(count, a.shape_.size, a.q_),
                          {a.shape_.size, a.shape_.keys},
                          rowMajorForm({count, a.shape_.keys}).desc)),
          sums(describe(p,
                        rowMajorForm({count, a.shape_.keys}).desc,
                        {a.shape_.keys, a.shape_.values},
                        matrix(count, a.shape_.values, a.y_))),
          byKeys(scores),
          byValues(sums),
          q(scores.src_desc(), p.engine(), DNNL_MEMORY_NONE),
          s(scores.dst_desc(), p.engine(), DNNL_MEMORY_NONE),
          y(sums.dst_desc(), p.engine(), DNNL_MEMORY_NONE),
          scratchpad(scores.scratchpad_desc().get_size() < sums.scratchpad_desc().get_size() ? sums.scratchpad_desc()
                                                                                             : scores.scratchpad_desc(),
                     p.engine(),
                     DNNL_MEMORY_NONE) {}
    void bind(float* scoresAt, float* scratchpadAt) {
      s.set_data_handle(scoresAt);
      scratchpad.set_data_handle(scratchpadAt);
    }

   private:
    static dnnl::matmul::primitive_desc describe(const Planner& p,
                                                 const memory::desc& left,
                                                 const Extents& right,
                                                 const memory::desc& result) {
      return {dnnl::matmul::desc(left, anyForm(right), result), attributesOf(Epilogue{}, nullptr), p.engine()};
    }
  };

  /// Without the map of arguments that would be made for each call.
  void execute(const dnnl::primitive& primitive, std::initializer_list<dnnl_exec_arg_t> arguments) const {
    dnnl::error::wrap_c_api(
        dnnl_primitive_execute(primitive.get(), stream_.get(), static_cast<int>(arguments.size()), arguments.begin()),
        "a product failed");
  }

  void runBlock(BlockProducts& products, size_t b, int64_t first) {
    products.q.set_data_handle(at_[kQ] + q_.offsets[b] + first * q_.row);
    float* y = at_[kY] + y_.offsets[b] + first * y_.row;
    products.y.set_data_handle(y);
    execute(products.byKeys, {{DNNL_ARG_SRC, products.q.get()},
                              {DNNL_ARG_WEIGHTS, packedKeys_.get()},
                              {DNNL_ARG_DST, products.s.get()},
                              {DNNL_ARG_SCRATCHPAD, products.scratchpad.get()}});
    float *scores = at_[kScores], *sums = at_[kRowSums];
#pragma omp parallel for num_threads(threads_) if (threads_ > 1) schedule(static)
    for (int64_t i = 0; i < products.queries; ++i)
      sums[i] = exponentials(scores + i * shape_.keys, termOf(b, first + i), scale_, shape_.keys);
    execute(products.byValues, {{DNNL_ARG_SRC, products.s.get()},
                                {DNNL_ARG_WEIGHTS, packedValues_.get()},
                                {DNNL_ARG_DST, products.y.get()},
                                {DNNL_ARG_SCRATCHPAD, products.scratchpad.get()}});
    for (int64_t i = 0; i < products.queries; ++i) {
      float* row = y + i * y_.row;
      const float by = 1 / sums[i];
      for (int64_t c = 0; c < shape_.values; ++c)
        row[c] *= by;
    }
  }

  const float* termOf(size_t b, int64_t query) const {
    if (!terms_) return nullptr;
    const float* base = terms_->constant ? terms_->constant->data.data() : at_[kTerms];
    return base + terms_->rows.offsets[b] + query * terms_->rows.row;
  }

  Sizes shape_;
  float scale_;
  int64_t block_;
  int threads_;
  Matrices q_, k_, v_, y_;
  std::optional<Terms> terms_;
  dnnl::stream stream_;
  BlockProducts whole_, rest_;
  memory packedKeys_, packedValues_, keys_, values_;
  dnnl::reorder packKeys_, packValues_;
  std::vector<float*> at_;
};

/// The terms, if they are constant, or one value that is added as it is.
std::optional<Terms> termsOf(Planner& p, const Attention& a, const Extents& batch, const Sizes& sizes) {
  const bool areConstant =
      std::all_of(a.terms.begin(), a.terms.end(), [&](const auto& term) { return p.isConstant(term.value); });
  if (areConstant) {
    auto sum = std::make_shared<const Tensor<float>>(constantTerms(p, a));
    return Terms{sum, spread({-1, rowMajor(sum->extents)}, batch)};
  }
  const Attention::Term& term = a.terms[0];
  const bool isAdded = a.terms.size() == 1 && term.kind == Attention::Term::Kind::kNumbers && term.factor == 1;
  const Extents extents = p.extents(term.value);
  if (!isAdded || extents.empty() || extents.back() != sizes.keys) return std::nullopt;
  Place there = p.place(term.value);
  Extents rows = extents;
  if (rows.size() < 2) rows.insert(rows.begin(), 1);
  rows[rows.size() - 2] = sizes.queries;
  auto isTaken = [&](const Access& access) {
    if (access.fills() || access.tables.back()[1] != 1) return false;
    return matrixStrides(broadcast(access, rows)).has_value();
  };
  if (!isTaken(there.access)) there = p.as(term.value, rowMajor(extents));
  there.access = broadcast(there.access, rows);
  return Terms{nullptr, spread(std::move(there), batch)};
}

/// How the result lies: as the operator that reads it, and nothing else, takes it where that brings heads side by side.
Access formOfResult(const Planner& p, Value y) {
  const Extents extents = p.extents(y);
  const auto reader = p.onlyReader(y.node);
  const bool moves = reader && (p.node(*reader).is(ops::kTranspose) || p.node(*reader).is(ops::kLayout));
  return moves && extents.size() == 4 ? inOrder(extents, {0, 2, 1, 3}) : rowMajor(extents);
}

}  // namespace

/// With 197 keys it is as fast in three steps, with 1024 a tenth of whole models faster in blocks (EPYC, Zen 5).
bool isLargeAttention(const Planner& p, const Attention& a) {
  constexpr int64_t kKeys = 256, kScores = 1 << 17;
  const Extents q = p.extents(a.q), k = p.extents(a.k);
  const int64_t queries = q[q.size() - 2], keys = k.back();
  return keys >= kKeys && queries * keys >= kScores;
}

bool lowerAttention(Planner& p, const Attention& a) {
  const Extents q = p.extents(a.q), y = p.extents(a.y), batch(y.begin(), y.end() - 2);
  const Sizes sizes{q[q.size() - 2], p.extents(a.k).back(), q.back(), y.back()};
  std::optional<Terms> terms;
  if (!a.terms.empty() && !(terms = termsOf(p, a, batch, sizes))) return false;
  Matrices queries = matricesOf(p, a.q, batch), keys = matricesOf(p, a.k, batch), values = matricesOf(p, a.v, batch);
  const Place result = p.create(formOfResult(p, a.y));
  auto step = std::make_unique<AttentionStep>(p, sizes, static_cast<float>(a.scale), std::move(queries),
                                              std::move(keys), std::move(values), spread(result, batch));
  if (!step->isOptimised()) return false;
  if (terms) step->add(std::move(*terms));
  p.note(a.y.node, step->name() + " and a kernel of our own, in blocks of queries");
  p.emit(std::move(step));
  p.define(a.y, result);
  return true;
}

}  // namespace pet::onednn
