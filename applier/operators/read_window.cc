#include "applier/operators/read_window.h"

namespace pet {

std::string autoPad(const Lifting& l) {
  std::string mode = l.text("auto_pad", "NOTSET");
  return mode.empty() ? "NOTSET" : mode;
}

const std::vector<Expr>& windowList(const Attributes& attributes, std::string_view name) {
  return std::get<std::vector<Expr>>(attributes.find(name)->second);
}

Attributes readWindow(const Lifting& l, const OnnxRow& row, Value x, Attributes known) {
  const size_t spatial = l.rank(x) - 2;
  if (std::string mode = autoPad(l); mode != "NOTSET") {
    known.emplace("auto_pad", mode);
    known.emplace("pads", std::vector<Expr>(2 * spatial, Expr(0)));
  }
  readAttributes(l, row, x, known);
  if (windowList(known, "strides").size() != spatial || windowList(known, "dilations").size() != spatial)
    Lifting::refuse("strides or dilations of the wrong length");
  return known;
}

}  // namespace pet
