#include "applier/infer/rules.h"

#include <map>

namespace pet {
namespace {

using InferTable = std::map<std::string_view, const InferRule*>;
using EntryTable = std::map<std::string_view, const EntryRule*>;

InferTable joinInferRules() {
  InferTable table;
  for (const InferRule* rule : inferRules())
    table.emplace(rule->type, rule);
  return table;
}

EntryTable joinEntryRules() {
  EntryTable table;
  for (auto family : {arithmeticEntryRules(), moveEntryRules()}) {
    for (const EntryRule& rule : family)
      table.emplace(rule.type, &rule);
  }
  return table;
}

}  // namespace

std::vector<const InferRule*> inferRules() {
  std::vector<const InferRule*> rules;
  for (auto family : {elementwiseRules(), normalizationRules(), reduceRules(), windowRules(), reshapeRules(),
                      moveRules(), indexRules(), resizeRules(), productRules(), attentionRules(), recurrentRules(),
                      generatorRules(), detectionRules(), sequenceRules(), controlRules()}) {
    for (const InferRule& rule : family)
      rules.push_back(&rule);
  }
  return rules;
}

const InferRule* findInferRule(std::string_view type) {
  static const InferTable table = joinInferRules();
  auto it = table.find(type);
  return it == table.end() ? nullptr : it->second;
}

const EntryRule* findEntryRule(std::string_view type) {
  static const EntryTable table = joinEntryRules();
  auto it = table.find(type);
  return it == table.end() ? nullptr : it->second;
}

}  // namespace pet
