#pragma once

#include <functional>
#include <regex>
#include <string>
#include <vector>

// Damages to the text of a rule: one token each, at every place where there is one.
namespace pet::testing_support {

struct Damage {
  std::string kind;  ///< "pads", "perm", …
  std::string line;  ///< what it was, and what it became
  std::string text;  ///< of the whole rule
};

class Damages {
 public:
  explicit Damages(std::string rule) : text_(std::move(rule)) {}

  std::vector<Damage> all() {
    std::string section = "statement";
    for (size_t at = 0; at < text_.size();) {
      size_t end = text_.find('\n', at);
      std::string line = text_.substr(at, end - at);
      at_ = at;
      if (line.ends_with("{")) section = sectionOf(line, section);
      damage(section, line);
      at = end + 1;
    }
    return std::move(damages_);
  }

 private:
  std::string text_;
  size_t at_ = 0;  ///< of the line
  std::vector<Damage> damages_;

  static std::string sectionOf(const std::string& line, const std::string& now) {
    for (const char* s : {"mutant", "replacement", "proof"}) {
      if (line.find(std::string("  ") + s + " ") == 0) return s;
    }
    return now;
  }

  void add(const std::string& kind, const std::string& line, const std::string& damaged) {
    if (line == damaged) return;
    std::string text = text_;
    text.replace(at_, line.size(), damaged);
    damages_.push_back({kind, line + "  ->  " + damaged, std::move(text)});
  }

  void damage(const std::string& section, const std::string& line) {
    if (section == "statement") return damageStatement(line);
    if (section == "proof") return damageProof(line);
    if (section == "replacement") damageProgram(line);
  }

  // --- A list in brackets or behind a word: its items, one changed at a time. ---

  static std::vector<std::string> items(const std::string& list) {
    std::vector<std::string> result{""};
    int depth = 0;
    for (char c : list) {
      depth += (c == '(' || c == '[') - (c == ')' || c == ']');
      if (c == ',' && depth == 0) {
        result.emplace_back();
      } else if (!(result.back().empty() && c == ' ')) {
        result.back() += c;
      }
    }
    return result;
  }
  static std::string list(const std::vector<std::string>& items) {
    std::string result;
    for (const std::string& i : items)
      result += (result.empty() ? "" : ", ") + i;
    return result;
  }

  using Change = std::function<std::vector<std::string>(std::vector<std::string>, size_t)>;

  /// Applies a change to every item of every list that the expression finds as its second group.
  void changeLists(const std::string& kind, const std::string& line, const std::regex& where, const Change& change) {
    for (std::sregex_iterator it(line.begin(), line.end(), where), end; it != end; ++it) {
      auto all = items((*it)[2].str());
      for (size_t i = 0; i < all.size() && !all[i].empty(); ++i) {
        auto changed = change(all, i);
        std::string damaged = line;
        damaged.replace(static_cast<size_t>(it->position(2)), static_cast<size_t>(it->length(2)), list(changed));
        add(kind, line, damaged);
      }
    }
  }

  static std::vector<std::string> oneMore(std::vector<std::string> all, size_t i) {
    all[i] += " + 1";
    return all;
  }
  static std::vector<std::string> exchanged(std::vector<std::string> all, size_t i) {
    if (i + 1 < all.size()) std::swap(all[i], all[i + 1]);
    return all;
  }
  static std::vector<std::string> dropped(std::vector<std::string> all, size_t i) {
    if (all.size() > 1) all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
    return all;
  }

  // --- The rule ---

  void damageStatement(const std::string& line) {
    static const std::regex kClass("^(  class [^:]*: )(.*)$"), kBox("^(  box \\[)(.*)(\\])$"),
        kWhere("^(  where )(.*)$");
    changeLists("class constraint dropped", line, kClass, dropped);
    damageNumerics(line);
    changeLists("where", line, kWhere, oneMore);
    changeLists("box bound", line, kBox, oneMore);
    changeLists("box bound", line, kBox, [](std::vector<std::string> all, size_t i) {
      all[i] = "1 + " + all[i];
      return all;
    });
  }

  /// More than it said.
  void damageNumerics(const std::string& line) {
    const std::string start = "  numerics ", spreads = ", spreads NaN";
    if (line.rfind(start, 0) != 0) return;
    const bool wide = line.ends_with(spreads);
    const std::string said = line.substr(start.size(), line.size() - start.size() - (wide ? spreads.size() : 0));
    const std::string rest = wide ? spreads : "";
    if (wide && said != "unbounded") add("numerics: spreads NaN", line, start + said);
    if (said != "bit-equal") add("numerics: bit-equal", line, start + "bit-equal" + rest);
    if (said != "bit-equal" && said != "same-terms") add("numerics: same terms", line, start + "same-terms" + rest);
    if (said == "unbounded") add("numerics: bounded", line, start + "conditioned 1e300" + rest);
    if (said.starts_with("conditioned "))
      add("numerics: kappa", line, start + "conditioned " + std::to_string(std::stod(said.substr(12)) * 0.99) + rest);
  }

  void damageProgram(const std::string& line) {
    static const std::regex kPads("( pads=\\[)([^\\]]*)(\\])"), kPerm("( perm=\\[)([^\\]]*)(\\])"),
        kBounds("( (?:starts|ends|split|sizes|shape|repeats|kernel_shape)=\\[)([^\\]]*)(\\])"),
        kSteps(
            "( (?:steps|strides|dilations|axes|output_padding|axis|blocksize|group|keepdims|extent|lower|upper)=\\[?)"
            "([^\\] ]*)"),
        kOperands("( = \\w+\\()([^)]*)(\\))"), kSource("( -> \\[)([^\\]]*)(\\])"),
        kNumber("( (?:value|alpha|beta|min|max|epsilon)=)([-0-9.einf]+)");
    changeLists("pads", line, kPads, oneMore);
    changeLists("pads exchanged", line, kPads, exchanged);
    changeLists("permutation", line, kPerm, exchanged);
    changeLists("bounds", line, kBounds, oneMore);
    changeLists("bounds exchanged", line, kBounds, exchanged);
    changeLists("step, axis or extent", line, kSteps, oneMore);
    changeLists("operands exchanged", line, kOperands, exchanged);
    changeLists("index map", line, kSource, oneMore);
    changeLists("index map exchanged", line, kSource, exchanged);
    for (std::sregex_iterator it(line.begin(), line.end(), kNumber), end; it != end; ++it) {
      std::string damaged = line;
      auto at = static_cast<size_t>(it->position(2)), size = static_cast<size_t>(it->length(2));
      add("coefficient", line, damaged.replace(at, size, "3.5"));
    }
    damageLayout(line);
    damageDefinedness(line);
    const std::pair<const char*, const char*> kOperators[] = {{"Add", "Sub"},
                                                              {"Sub", "Add"},
                                                              {"Mul", "Add"},
                                                              {"Relu", "Tanh"},
                                                              {"Sigmoid", "Tanh"},
                                                              {"Exp", "Erf"},
                                                              {"ReduceMean", "ReduceSum"},
                                                              {"MaxPool", "AveragePool"},
                                                              {"AveragePool", "MaxPool"},
                                                              {"ReduceSum", "ReduceMean"},
                                                              {"Neg", "Identity"},
                                                              {"Identity", "Neg"},
                                                              {"Conv", "ConvTranspose"},
                                                              {"ReduceMax", "ReduceSum"},
                                                              {"Square", "Identity"},
                                                              {"GlobalMaxPool", "GlobalAveragePool"}};
    for (const auto& [from, to] : kOperators) {
      std::string call = std::string(" = ") + from + "(", damaged = line;
      size_t at = line.find(call);
      if (at != std::string::npos)
        add("operator", line, damaged.replace(at, call.size(), std::string(" = ") + to + "("));
    }
    for (const auto& [from, to] : {std::pair{"mode=reflect", "mode=edge"},
                                   {"mode=edge", "mode=reflect"},
                                   {"mode=CRD", "mode=DCR"},
                                   {"count_include_pad=1", "count_include_pad=0"}}) {
      std::string damaged = line;
      size_t at = line.find(from);
      if (at != std::string::npos) add("mode", line, damaged.replace(at, std::string(from).size(), to));
    }
  }

  /// Terms that cancel, or have the factor 0, but have no value where the result is 0, or negative.
  void damageDefinedness(const std::string& line) {
    const std::string output = "    y = ";
    if (line.find(output) != 0) return;
    std::string before = "    q9 = " + line.substr(output.size()) + "\n";
    for (const char* f : {"Reciprocal", "Sqrt"}) {
      add("no value somewhere", line, before + "    r9 = " + f + "(q9)\n    s9 = Add(q9, r9)\n    y = Sub(s9, r9)");
      add("no value somewhere", line,
          before + "    r9 = " + f + "(q9)\n    z9 = Sub(q9, q9)\n    s9 = Mul(r9, z9)\n    y = Add(q9, s9)");
    }
  }

  /// Neighbours on the right of a layout change places.
  void damageLayout(const std::string& line) {
    size_t layout = line.find(" = Layout("), arrow = line.find(" -> ");
    if (layout == std::string::npos || arrow == std::string::npos) return;
    static const std::regex kNeighbours("(\\w+)( | \\(|\\) |\\) \\()(\\w+)");
    for (std::sregex_iterator it(line.begin() + static_cast<std::ptrdiff_t>(arrow) + 4, line.end(), kNeighbours), end;
         it != end; ++it) {
      std::string damaged = line;
      damaged.replace(arrow + 4 + static_cast<size_t>(it->position(0)), static_cast<size_t>(it->length(0)),
                      (*it)[3].str() + (*it)[2].str() + (*it)[1].str());
      add("layout", line, damaged);
    }
  }

  // --- The record ---

  void damageProof(const std::string& line) {
    static const std::regex kImage("((?:forward|backward|defined) \\d+ (?:->|<=) \\d+ \\[)([^\\]]*)(\\])"),
        kWhen("((?:forward|backward|defined).* when )(.*)$"), kLemma("^( +(?:equal .* when|or) )([^{]*[^ {])( \\{)?$"),
        kVanish("( +vanish .* when )(.*)$"), kNumbers("()(\\d+)( ->|$| \\[)");
    changeLists("image", line, kImage, oneMore);
    changeLists("image exchanged", line, kImage, exchanged);
    changeLists("condition of a map dropped", line, kWhen, dropped);
    changeLists("condition of a map", line, kWhen,
                [](std::vector<std::string> all, size_t i) { return shifted(all, i); });
    changeLists("lemma's condition dropped", line, kLemma, dropped);
    changeLists("lemma's condition", line, kLemma,
                [](std::vector<std::string> all, size_t i) { return shifted(all, i); });
    changeLists("vanishing condition dropped", line, kVanish, dropped);
    changeLists("vanishing condition", line, kVanish,
                [](std::vector<std::string> all, size_t i) { return shifted(all, i); });
    static const std::regex kUnfold("^( +unfold )(.*)$"), kBound("(ward \\d+ )(<=)( )"),
        kEquation("(ward \\d+ )(->)( )");
    changeLists("unfolded: one less", line, kUnfold, dropped);
    changeLists("unfolded: another", line, kUnfold, [](std::vector<std::string> all, size_t i) {
      all[i] = i % 2 == 0 ? "Conv" : "Softplus";
      return all;
    });
    if (line.find("  unfold ") == 2) add("unfolded: nothing", line, "");
    changeLists("bound for an equation", line, kEquation, [](auto, size_t) { return std::vector<std::string>{"<="}; });
    changeLists("equation for a bound", line, kBound, [](auto, size_t) { return std::vector<std::string>{"->"}; });
    bool isMap = line.find("ward ") != std::string::npos || line.find("  defined ") != std::string::npos,
         vanishes = line.find("  vanish ") != std::string::npos;
    if (isMap || vanishes) add("line dropped", line, "");
    if (isMap) add("line repeated", line, line + "\n" + line);
    if (vanishes && line.find(" when ") != std::string::npos)
      add("vanishing everywhere", line, line.substr(0, line.find(" when ")));
    if (isMap && line.find(" when ") != std::string::npos)
      add("map everywhere", line, line.substr(0, line.find(" when ")));
  }

  /// "a <= b" becomes "a <= b + 1".
  static std::vector<std::string> shifted(std::vector<std::string> all, size_t i) {
    all[i] += " + 1";
    return all;
  }
};

}  // namespace pet::testing_support
