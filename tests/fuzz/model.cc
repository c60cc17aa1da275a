// ONNX models as bytes. What is read is normalised and rewritten, and can be written and read again.

#include "applier/apply.h"
#include "applier/read/normalise.h"
#include "rules/pack/file.h"
#include "rules/text.h"
#include "tests/fuzz/fields.h"
#include "tests/fuzz/fuzz.h"

using namespace pet;

namespace {

/// Rules of a plain convolution, and of two with one input.
RuleSet someRules() {
  RuleSet rules;
  for (std::string name : {"conv", "branches"}) {
    std::string path = PET_SOURCE_DIR "/tests/data/" + name + ".pet";
    auto text = readFile(path, ErrorKind::kText);
    auto added = addRules(rules, parseRules(text.value(), path).value(), path);
    fuzz::require(added.has_value(), "the rules have names of their own", added ? "" : added.error().message());
  }
  return rules;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const RuleSet kRules = someRules();
  auto model = parseModel(std::string(fuzz::view(data, size)), "f");
  if (!model) {
    fuzz::require(model.error().kind == ErrorKind::kModel && model.error().where == "f", "an error is about the model",
                  model.error().message());
    return 0;
  }
  ApplyOptions options;
  options.policy.all = true;
  options.check = ApplyOptions::Check::kNone;
  auto applied = apply(*model, kRules, {}, options);
  if (!applied) {
    bool theirs = applied.error().kind == ErrorKind::kModel || applied.error().kind == ErrorKind::kUnsupported;
    fuzz::require(theirs, "an error is about the model", applied.error().message());
    return 0;
  }
  auto again = parseModel(serialize(applied->model).value(), "again");
  fuzz::require(again.has_value(), "what is written can be read", again ? "" : again.error().message());
  return 0;
}
