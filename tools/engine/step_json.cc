#include "tools/engine/step_json.h"

namespace pet::tool {

nlohmann::ordered_json jsonOf(const std::vector<StepTime>& steps) {
  auto list = nlohmann::ordered_json::array();
  for (const StepTime& step : steps) {
    list.push_back(
        {{"node", step.node}, {"op", step.op}, {"how", step.how}, {"seconds", step.seconds}, {"bytes", step.bytes}});
  }
  return list;
}

}  // namespace pet::tool
