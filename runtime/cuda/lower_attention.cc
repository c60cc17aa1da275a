// Attention, by cuDNN.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "runtime/cuda/borders.h"
#include "runtime/cuda/points.h"
#include "runtime/plan/attention.h"

namespace pet::cuda {
namespace {

/// As a library reads it: rows of neighbours on borders, and no position twice.
bool isInRows(const Access& access, int64_t border) {
  const auto strides = stridesOf(access);
  if (!strides || strides->back() != 1 || access.offset % border != 0) return false;
  for (size_t d = 0; d + 1 < access.rank(); ++d) {
    if (access.tables[d].size() > 1 && ((*strides)[d] <= 0 || (*strides)[d] % border != 0)) return false;
  }
  return true;
}

/// The extents as [batch, heads, rows, columns].
Extents four(const Extents& extents) {
  Extents result(4 - extents.size(), 1);
  result.insert(result.end(), extents.begin(), extents.end());
  return result;
}

/// The extents of an attention's tensors.
struct Sizes {
  Extents q, k, v, y;

  Sizes(const plan::Planner& p, const Attention& a)
      : q(four(p.extents(a.q))), k(four(p.extents(a.k))), v(four(p.extents(a.v))), y(four(p.extents(a.y))) {
    std::swap(k[2], k[3]);
    for (Extents* each : {&q, &k, &v})
      std::copy(y.begin(), y.begin() + 2, each->begin());
  }
};

/// Without the repetitions of heads that stand side by side: libraries read one for all of them.
Access withoutRepeatedHeads(const Access& access) {
  const auto& heads = access.tables[1];
  auto repeats = [&](size_t times) {
    for (size_t h = 0; h < heads.size(); ++h) {
      if (heads[h] != heads[h - h % times]) return false;
    }
    return heads.size() % times == 0;
  };
  size_t times = heads.size();
  while (!repeats(times))
    --times;
  std::vector<int64_t> kept;
  for (size_t h = 0; h < heads.size(); h += times)
    kept.push_back(static_cast<int64_t>(h));
  return selected(access, 1, kept);
}

/// Why libraries are not asked; "": they are.
std::string whyNotAsked(const plan::Planner& p, const Attention& a) {
  // cuDNN scales what it hides, which is then not below all others.
  if (!(a.scale > 0)) return "a scale that is not positive";
  for (Value v : {a.q, a.k, a.v, a.y}) {
    const Extents extents = p.extents(v);
    if (extents.size() > 4) return "more than four dimensions";
    if (elementCount(extents) == 0) return "no elements";
  }
  const Extents scores = p.extents(p.node(a.members.back()).operands[0]), y = p.extents(a.y);
  if (!std::equal(scores.begin(), scores.end() - 2, y.begin(), y.end() - 2)) return "values for more than one product";
  return "";
}

/// A query that sees no key has no weights, and libraries differ in what they make of it.
bool hidesAllOfARow(const Tensor<float>& mask) {
  const auto keys = static_cast<std::ptrdiff_t>(mask.extents.back());
  for (auto row = mask.data.begin(); row != mask.data.end(); row += keys) {
    if (std::none_of(row, row + keys, [](float x) { return std::isfinite(x); })) return true;
  }
  return false;
}

/// Query i sees keys 0 to i, and nothing is added to their scores.
bool isCausal(const Tensor<float>& mask) {
  const int64_t keys = mask.extents.back(), queries = mask.extents[mask.extents.size() - 2];
  if (mask.size() != queries * keys) return false;
  for (int64_t i = 0; i < mask.size(); ++i) {
    if (mask.data[static_cast<size_t>(i)] != (i % keys > i / keys ? -INFINITY : 0)) return false;
  }
  return true;
}

class AttentionLowering {
 public:
  AttentionLowering(Planner& p, const Attention& a) : p_(p), a_(a), sizes_(p, a) {
    const bool known =
        std::all_of(a.terms.begin(), a.terms.end(), [&](const auto& t) { return p.isConstant(t.value); });
    if (known && !a.terms.empty()) mask_ = constantTerms(p, a);
  }

  /// Why the device does not take it; "": it does. Places are not known yet: each tensor is as it would be copied.
  std::string refusal() const {
    if (mask_ && hidesAllOfARow(*mask_)) return "a query that sees no key";
    auto form = [&](const Extents& extents) { return formOf(inRows(extents, p_.alignment())); };
    std::string why;
    for (bool causal : choices()) {
      AttentionCall call{
          form(sizes_.q), form(sizes_.k), form(sizes_.v), form(sizes_.y), static_cast<float>(a_.scale), {}, causal};
      if (hasBias(causal)) call.bias = form(four(extentsOfTerms(p_, a_)));
      auto ok = p_.device().takes(call);
      if (ok) return "";
      why = ok.error().message();
    }
    return why;
  }

  bool run() {
    const Place &keys = p_.place(a_.k), &values = p_.place(a_.v);
    const Place q = rows(whole(p_.place(a_.q), sizes_.q)),
                k = rows(shared({keys.buffer, swapped(keys.access)}, sizes_.k)), v = rows(shared(values, sizes_.v));
    std::string why;
    for (bool causal : choices()) {
      std::vector<Place> operands{q, k, v};
      if (hasBias(causal)) operands.push_back(terms());
      if (emit(operands, causal, why)) return true;
    }
    throw NotLowered{why};
  }

 private:
  /// Whether the mask is said instead of added; what is tried first comes first.
  std::vector<bool> choices() const {
    return mask_ && isCausal(*mask_) ? std::vector<bool>{true, false} : std::vector<bool>{false};
  }
  bool hasBias(bool causal) const { return !causal && !a_.terms.empty(); }

  /// With the operands q, k, v, and the bias where there is one.
  bool emit(const std::vector<Place>& operands, bool causal, std::string& why) {
    Access to = inOrder(sizes_.y, memoryOrder(operands[0].access));
    if (!isInRows(to, p_.alignment())) to = inRows(sizes_.y, p_.alignment());
    AttentionCall call{formOf(operands[0].access),
                       formOf(operands[1].access),
                       formOf(operands[2].access),
                       formOf(to),
                       static_cast<float>(a_.scale),
                       {},
                       causal};
    if (hasBias(causal)) call.bias = formOf(operands[3].access);
    auto made = p_.device().attention(call);
    if (!made) {
      why = made.error().message();
      return false;
    }
    const std::string name = (*made)->name();
    const Place y = p_.create(to);
    std::vector<CallStep::Argument> arguments{{y.buffer}};
    for (const Place& operand : operands)
      arguments.push_back({operand.buffer, operand.access.offset});
    p_.emitCall(std::move(*made), y, std::move(arguments));
    p_.define(a_.y, {y.buffer, *reshaped(y.access, p_.extents(a_.y))});
    p_.note(a_.members.back(), name);
    return true;
  }

  static Place whole(const Place& there, const Extents& extents) {
    return {there.buffer, broadcast(there.access, extents)};
  }
  static Place shared(const Place& there, const Extents& extents) {
    return {there.buffer, withoutRepeatedHeads(broadcast(there.access, extents))};
  }

  /// The tensor, where it is if a library can read it there.
  Place rows(const Place& there) {
    if (isInRows(there.access, p_.alignment())) return there;
    Place made = p_.create(inRows(there.access.extents(), p_.alignment()));
    p_.copy(there, made);
    return made;
  }

  /// The sum of what is added to the scores.
  Place terms() {
    using Kind = Attention::Term::Kind;
    const Extents extents = four(extentsOfTerms(p_, a_));
    if (mask_) return constantRows(p_, *mask_, extents);
    const Attention::Term& first = a_.terms[0];
    if (a_.terms.size() == 1 && first.factor == 1 && first.kind == Kind::kNumbers)
      return rows(whole(p_.place(first.value), extents));
    Place to = p_.create(inRows(extents, p_.alignment()));
    Points points(p_, to);
    std::string sum;
    for (const Attention::Term& term : a_.terms) {
      const std::string x = points.add(term.value), hidden = number(-INFINITY);
      sum += sum.empty() ? "" : " + ";
      if (term.kind == Kind::kNumbers) sum += fmt::format("{} * {}", x, number(static_cast<float>(term.factor)));
      if (term.kind == Kind::kHiddenWhereTrue) sum += fmt::format("({} != 0 ? {} : 0.0f)", x, hidden);
      if (term.kind == Kind::kHiddenWhereFalse) sum += fmt::format("({} != 0 ? 0.0f : {})", x, hidden);
    }
    points.emit(sum);
    return to;
  }

  Planner& p_;
  const Attention& a_;
  Sizes sizes_;
  std::optional<Tensor<float>> mask_;  ///< the sum of the terms, if all are constant
};

}  // namespace

std::vector<int> Planner::groupOf(int n) {
  auto found = attentionAt(*this, n);
  if (!found) return {};
  std::string why = whyNotAsked(*this, *found);
  if (why.empty()) why = AttentionLowering(*this, *found).refusal();
  if (why.empty()) return found->members;
  inPieces_[found->members[found->members.size() - 2]] = why;
  return {};
}

bool Planner::lowerGroup(const std::vector<int>& members) {
  const auto found = attentionAt(*this, members.back());
  return AttentionLowering(*this, *found).run();
}

std::string Planner::whyInPieces(int softmax) const {
  const auto found = inPieces_.find(softmax);
  return found == inPieces_.end() ? "" : "; attention in pieces: " + found->second;
}

}  // namespace pet::cuda
