#include "ir/ops/attribute.h"

#include <cstdlib>
#include <string>

namespace pet {
namespace {

OnnxAttribute inOnnx(const AttributeSpec& a) {
  const std::string text(a.fallback);
  switch (a.kind) {
    case AttributeKind::kScalar:
      return text.empty() ? OnnxAttribute::givenInteger(a.name)
                          : OnnxAttribute::integer(a.name, std::atoll(text.c_str()));
    case AttributeKind::kNumber:
      return OnnxAttribute::number(a.name, std::strtod(text.c_str(), nullptr));
    case AttributeKind::kText:
      return OnnxAttribute::text(a.name, a.fallback);
    default:
      return OnnxAttribute::givenList(a.name);
  }
}

}  // namespace

std::vector<OnnxAttribute> sameInOnnx(const std::vector<AttributeSpec>& attributes) {
  std::vector<OnnxAttribute> result;
  for (const AttributeSpec& a : attributes)
    result.push_back(inOnnx(a));
  return result;
}

}  // namespace pet
