#include "synth/propose/skeletons/joins.h"

#include <algorithm>

namespace pet {
namespace {

class Pairing {
 public:
  Pairing(const Program& pattern, const Piece& p, const Piece& m, const Factor* hole)
      : pattern_(pattern), p_(p), m_(m), hole_(hole) {}

  std::vector<Join> run() {
    pair(0);
    return std::move(found_);
  }

 private:
  bool isWeight(const Factor& f) const {
    return f.kind == Factor::Kind::kInput && isConstant(pattern_, pattern_.inputs()[static_cast<size_t>(f.number)]);
  }
  bool isTaken(const Factor& f) const { return std::find(taken_.begin(), taken_.end(), &f) != taken_.end(); }

  /// Pairs factors `next…` of m with factors of p that are not taken.
  void pair(size_t next) {
    while (next < m_.factors.size() && &m_.factors[next] == hole_)
      ++next;
    if (next == m_.factors.size()) return keep();
    const Factor& b = m_.factors[next];
    for (const Factor& a : p_.factors) {
      if (!a.sameKind(b) || isTaken(a)) continue;
      size_t before = equal_.size();
      for (size_t i = 0; i < a.at.size(); ++i)
        equal_.push_back(Constraint::eq(a.at[i], b.at[i]));
      for (size_t i = 0; i < a.parameters.size(); ++i)
        equal_.push_back(Constraint::eq(a.parameters[i], b.parameters[i]));
      taken_.push_back(&a);
      pair(next + 1);
      taken_.pop_back();
      equal_.resize(before);
    }
  }

  void keep() {
    Join join{{}, equal_};
    for (const Factor& f : p_.factors) {
      if (isTaken(f)) continue;
      if (!isWeight(f)) return;
      join.weights.push_back(&f);
    }
    found_.push_back(std::move(join));
  }

  const Program& pattern_;
  const Piece &p_, &m_;
  const Factor* hole_;
  std::vector<const Factor*> taken_;
  poly::Conjunction equal_;
  std::vector<Join> found_;
};

}  // namespace

std::vector<Join> joinsOf(const Program& pattern, const Piece& p, const Piece& m, const Factor* hole) {
  return Pairing(pattern, p, m, hole).run();
}

}  // namespace pet
