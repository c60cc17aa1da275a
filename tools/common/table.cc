#include "tools/common/table.h"

#include <algorithm>

#include <fmt/format.h>

#include "tools/common/display.h"

namespace pet::tool {

std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> width(rows.front().size());
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i)
      width[i] = std::max(width[i], columnsOf(row[i]));
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i + 1 < row.size(); ++i)
      line += row[i] + std::string(width[i] - columnsOf(row[i]) + 2, ' ');
    line += row.back();
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string shapesText(const Bindings& shapes) {
  std::string text;
  for (const auto& [symbol, value] : shapes)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", symbol, value);
  return text;
}

}  // namespace pet::tool
