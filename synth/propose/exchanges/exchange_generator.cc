#include "synth/propose/exchanges/exchange_generator.h"

#include "ir/denote.h"
#include "synth/analysis/typical_shape.h"
#include "synth/propose/exchanges/exchange.h"

namespace pet {
namespace {

class ExchangeGenerator : public Generator {
 public:
  ExchangeGenerator(const Pattern& pattern, int size) : pattern_(pattern), operators_(size) {}

  const Pattern& pattern() const override { return pattern_; }
  Source source() const override { return Source::kExchange; }
  size_t size() const override { return 1; }
  std::string name(size_t) const override { return "exchanges"; }

  void propose(size_t, const Judge& judge) const override {
    std::vector<Exchange> found;
    try {
      found = enumerateExchanges(pattern_, {.operators = operators_});
    } catch (const OverflowError&) {
      return;  // extents of the pattern leave 64 bits
    }
    for (Exchange& e : found)
      judge({e.name, proposal(e)});
  }

 private:
  tl::expected<Proposal, Drop> proposal(Exchange& e) const {
    return orDrop([&]() -> tl::expected<Proposal, Drop> {
      ShapeClass shapes = pattern_.shapes;
      for (const Constraint& c : obligations(e.program))
        shapes.require(c);
      if (!holdsUsualShape(pattern_.program, pattern_.shapes, shapes))
        return tl::unexpected(Drop{DropReason::kEmptyClass, "of usual shapes"});
      return Proposal{.name = e.name,
                      .family = "exchanged",
                      .where = {},
                      .shapes = std::move(shapes),
                      .program = std::move(e.program),
                      .mustSave = true};
    });
  }

  const Pattern pattern_;
  const int operators_;
};

}  // namespace

MadeGenerator exchangeGenerator(const Pattern& pattern, int size) {
  return std::make_unique<ExchangeGenerator>(pattern, size);
}

}  // namespace pet
