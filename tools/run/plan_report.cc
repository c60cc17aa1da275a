#include "tools/run/plan_report.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "tools/common/table.h"

namespace pet::run {

nlohmann::ordered_json jsonOf(const cuda::PlanCounts& counts) {
  return {{"chosen", counts.chosen},     {"timed", counts.timed},       {"seconds", counts.seconds},
          {"restored", counts.restored}, {"compiled", counts.compiled}, {"loaded", counts.loaded}};
}

namespace {

/// That a screen holds: those that need the most.
constexpr size_t kMostKernels = 8;

std::string kernelTable(std::vector<cuda::KernelUse> kernels) {
  if (kernels.empty()) return "";
  std::sort(kernels.begin(), kernels.end(), [](const cuda::KernelUse& a, const cuda::KernelUse& b) {
    return std::tie(b.spilledBytes, b.registers, b.sharedBytes, a.kernel) <
           std::tie(a.spilledBytes, a.registers, a.sharedBytes, b.kernel);
  });
  std::vector<std::vector<std::string>> rows{{"KERNEL", "REGISTERS", "SPILLED BYTES", "SHARED BYTES"}};
  for (size_t i = 0; i < std::min(kernels.size(), kMostKernels); ++i) {
    const cuda::KernelUse& use = kernels[i];
    rows.push_back(
        {use.kernel, std::to_string(use.registers), std::to_string(use.spilledBytes), std::to_string(use.sharedBytes)});
  }
  const std::string more =
      kernels.size() > kMostKernels ? fmt::format("and {} more (--json)\n", kernels.size() - kMostKernels) : "";
  return tool::table(rows) + more + "\n";
}

}  // namespace

std::string tables(const PlanReport& report) {
  std::vector<std::vector<std::string>> rows{{"NODE", "OPERATOR", "HOW"}};
  for (const EngineNote& note : report.nodes) {
    if (!note.how.empty()) rows.push_back({note.node, note.op, note.how});  // else a constant
  }
  int registers = 0, spilled = 0;
  for (const cuda::KernelUse& use : report.kernels) {
    registers = std::max(registers, use.registers);
    spilled += use.spilledBytes > 0 ? 1 : 0;
  }
  const auto left =
      std::count_if(report.nodes.begin(), report.nodes.end(), [](const EngineNote& n) { return n.reference; });
  return tool::table(rows) + "\n" + kernelTable(report.kernels) +
         fmt::format("{}: {} nodes, {} by the reference; {} kernels, at most {} registers, {} with spills\n",
                     report.device, rows.size() - 1, left, report.kernels.size(), registers, spilled);
}

std::string json(const PlanReport& report, const Arguments& o) {
  using Json = nlohmann::ordered_json;
  Json nodes = Json::array(), kernels = Json::array();
  for (const EngineNote& note : report.nodes)
    nodes.push_back({{"node", note.node}, {"op", note.op}, {"how", note.how}, {"reference", note.reference}});
  for (const cuda::KernelUse& use : report.kernels) {
    kernels.push_back({{"kernel", use.kernel},
                       {"registers", use.registers},
                       {"spilled_bytes", use.spilledBytes},
                       {"shared_bytes", use.sharedBytes}});
  }
  return Json{{"model", o.model}, {"device", report.device}, {"precision", report.precision},
              {"nodes", nodes},   {"kernels", kernels},      {"plans", jsonOf(report.plans)}}
             .dump(2, ' ', false, Json::error_handler_t::replace) +
         "\n";
}

}  // namespace pet::run
