#include "synth/forms.h"

#include "synth/finish.h"
#include "synth/forms/form.h"
#include "synth/prove/prove.h"
#include "synth/stopwatch.h"

namespace pet {
namespace {

/// Behind those of all plans and graphs: where both make the same program, their name stands.
constexpr uint64_t kFirstRank = uint64_t{1} << 48;

std::vector<Form> formsOf(const Pattern& pattern) {
  std::vector<Form> forms;
  for (auto make : {winogradForms, rowForms, blockForms, phaseForms}) {
    auto more = make(pattern);
    std::move(more.begin(), more.end(), std::back_inserter(forms));
  }
  return forms;
}

class FormGenerator : public Generator {
 public:
  FormGenerator(const Pattern& pattern, std::vector<Form> forms, const SearchOptions& options)
      : pattern_(pattern), forms_(std::move(forms)), options_(options) {}

  const Pattern& pattern() const override { return pattern_; }
  Source source() const override { return Source::kTemplate; }
  size_t size() const override { return forms_.size(); }
  std::string name(size_t unit) const override { return forms_[unit].name; }
  std::string whyEmpty() const override { return ""; }

  std::vector<CandidateOutcome> run(size_t unit) const override {
    Candidate c;
    const Form& f = forms_[unit];
    c.rule = uncorrectedRule(pattern_.name, f.name, f.family, f.where, f.shapes, f.program);
    try {
      Stopwatch watch(c.seconds.prove);
      prove(c);
    } catch (const poly::BudgetExceeded& e) {
      end(c, Fate::kUnknown, e.what());
    } catch (const OverflowError& e) {
      end(c, Fate::kShape, e.what());
    }
    return {outcomeOf(c, f.name, kFirstRank + unit)};
  }

 private:
  void prove(Candidate& c) const {
    poly::Context context(c.rule.shapes, options_.operations);
    if (context.set({}, {}).isEmpty()) return end(c, Fate::kEmptyClass);
    auto source = instantiate(pattern_, c.rule);
    if (!source) return end(c, Fate::kShape, source.error().what);
    auto equality = proveEqual(context, *source, c.rule.replacement);
    if (auto* u = std::get_if<Unknown>(&equality)) return end(c, Fate::kUnknown, u->reason);
    auto* proved = std::get_if<Proved>(&equality);
    if (!proved) return end(c, Fate::kNoCorrection, "wrong at borders");
    c.rule.proofs = std::move(proved->proofs);
    finish(*source, c.rule);
  }

  const Pattern pattern_;
  const std::vector<Form> forms_;
  const SearchOptions options_;
};

}  // namespace

std::unique_ptr<Generator> formGenerator(const Pattern& pattern, const SearchOptions& options) {
  auto forms = formsOf(pattern);
  if (forms.empty()) return nullptr;
  return std::make_unique<FormGenerator>(pattern, std::move(forms), options);
}

}  // namespace pet
