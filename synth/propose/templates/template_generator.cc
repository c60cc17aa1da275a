#include "synth/propose/templates/template_generator.h"

#include <algorithm>

#include "synth/propose/templates/template.h"

namespace pet {
namespace {

class TemplateGenerator : public Generator {
 public:
  TemplateGenerator(const Pattern& pattern, std::vector<Template> templates)
      : pattern_(pattern), templates_(std::move(templates)) {}

  const Pattern& pattern() const override { return pattern_; }
  Source source() const override { return Source::kTemplate; }
  size_t size() const override { return templates_.size(); }
  std::string name(size_t unit) const override { return templates_[unit].name; }

  void propose(size_t unit, const Judge& judge) const override {
    const Template& t = templates_[unit];
    judge({t.name, Proposal{t.name, t.family, t.where, t.shapes, t.program}});
  }

 private:
  const Pattern pattern_;
  const std::vector<Template> templates_;
};

}  // namespace

MadeGenerator templateGenerator(const Pattern& pattern) {
  std::vector<Template> templates;
  for (auto make : {winogradTemplates,    winogradOfOneAxisTemplates,
                    kernelRowTemplates,   blockTemplates,
                    rowPhaseTemplates,    definitionTemplates,
                    spectrumTemplates,    transposeTemplates,
                    tableTemplates,       sliceTemplates,
                    stepTemplates,        phaseTemplates,
                    signalPhaseTemplates, windowTemplates,
                    distanceTemplates,    differenceTemplates,
                    columnTemplates,      runningSumTemplates,
                    pairTemplates,        seeingTapTemplates,
                    paddedGroupTemplates, lookupTemplates,
                    copyTemplates,        poolTemplates,
                    rollTemplates}) {
    auto more = make(pattern);
    std::move(more.begin(), more.end(), std::back_inserter(templates));
  }
  if (templates.empty()) return tl::unexpected(std::string());
  return std::make_unique<TemplateGenerator>(pattern, std::move(templates));
}

}  // namespace pet
