// Timings of which each line is parsed when its rule is asked for.

#include <algorithm>

#include "rules/pack/database.h"
#include "rules/pack/file.h"
#include "rules/pack/timing_lines.h"
#include "rules/pack/timing_sample.h"

namespace pet {

Expected<OpenTimings> OpenTimings::open(const std::string& path) {
  auto bytes = readFile(path, ErrorKind::kPack);
  if (!bytes) return tl::unexpected(bytes.error());
  return openBytes(std::move(*bytes), path);
}

Expected<OpenTimings> OpenTimings::openAll(const std::vector<std::string>& paths) {
  if (paths.empty()) return OpenTimings();
  const std::string& path = paths[0];
  if (paths.size() == 1) return open(path);
  Timings added;
  for (size_t i = 1; i < paths.size(); ++i) {
    auto more = readTimings(paths[i]);
    if (!more) return tl::unexpected(more.error());
    added.merge(*more);
  }
  auto text = readFile(path, ErrorKind::kPack);
  if (text && looksLikeDatabase(*text))
    text = readTimingsBytes(*text, path).map([](const Timings& t) { return print(t); });
  if (!text) return tl::unexpected(text.error());
  return openBytes(*text + "\n" + print(added), path);
}

Expected<OpenTimings> OpenTimings::openBytes(std::string bytes, const std::string& name) {
  OpenTimings timings;
  timings.name_ = name;
  if (looksLikeDatabase(bytes)) {
    auto database = readTimingsBytes(bytes, name);
    if (!database) return tl::unexpected(database.error());
    timings.database_ = std::move(*database);
    return timings;
  }
  timings.text_ = std::move(bytes);
  auto ok = readLines(timings.text_, name, timings.database_, timings.names_,
                      [&](std::string_view line, int number) { return timings.enter(line, number); });
  if (!ok) return tl::unexpected(ok.error());
  return timings;
}

/// A line whose names are not known is parsed to say so.
Expected<void> OpenTimings::enter(std::string_view text, int number) {
  Line line{static_cast<size_t>(text.data() - text_.data()), text.size(), number};
  if (const PrintedHead head(text, names_); head.rule) {
    line.setting = head.setting;
    linesOf(head.rule->hash).push_back(line);
    return {};
  }
  auto sample = parseSample(text, names_, name_, number);
  if (!sample) return tl::unexpected(sample.error());
  linesOf(sample->rule).push_back(line);
  return {};
}

std::vector<OpenTimings::Line>& OpenTimings::linesOf(std::string_view rule) {
  auto lines = lines_.find(rule);
  return (lines != lines_.end() ? lines : lines_.emplace(rule, std::vector<Line>()).first)->second;
}

std::string_view OpenTimings::textOf(const Line& line) const {
  return std::string_view(text_).substr(line.begin, line.size);
}

Expected<TimingSample> OpenTimings::sampleOf(const Line& line) const {
  return parseSample(textOf(line), names_, name_, line.number);
}

Expected<std::vector<TimingSample>> OpenTimings::samples(const std::string& ruleHash, const std::string& device) const {
  auto lines = lines_.find(ruleHash);
  if (lines == lines_.end()) return database_.samples(ruleHash, device);
  Timings timings;  // of one setting the last one counts
  for (const Line& line : lines->second) {
    auto sample = sampleOf(line);
    if (!sample) return tl::unexpected(sample.error());
    timings.add(std::move(*sample));
  }
  return timings.samples(ruleHash, device);
}

Expected<std::set<TimedEngine>> OpenTimings::engines() const {
  std::set<TimedEngine> engines;
  const auto enter = [&](const TimingSample& s) { engines.insert({s.device, s.engine, s.version}); };
  std::set<const TimingSample*> settings;
  for (const TimingSample& s : database_.all())
    enter(s);
  for (const auto& [rule, lines] : lines_) {
    for (const Line& line : lines) {
      if (line.setting) {
        settings.insert(line.setting);
        continue;
      }
      auto sample = sampleOf(line);
      if (!sample) return tl::unexpected(sample.error());
      enter(*sample);
    }
  }
  for (const TimingSample* setting : settings)
    enter(*setting);
  return engines;
}

Expected<std::set<std::string>> OpenTimings::devices() const {
  auto all = engines();
  if (!all) return tl::unexpected(all.error());
  std::set<std::string> devices;
  for (const TimedEngine& engine : *all)
    devices.insert(engine.device);
  return devices;
}

Expected<std::vector<LayoutSample>> OpenTimings::layouts(const std::string& device) const {
  std::vector<LayoutSample> result = database_.layouts(device);
  auto enter = [&](LayoutSample layout) {
    if (layout.bytes > 0) result.push_back(std::move(layout));
  };
  for (const auto& [rule, lines] : lines_) {
    for (const Line& line : lines) {
      if (line.setting && line.setting->device != device) continue;
      if (auto layout = line.setting ? layoutOf(textOf(line), *line.setting) : std::nullopt) {
        enter(std::move(*layout));
        continue;
      }
      auto sample = sampleOf(line);
      if (!sample) return tl::unexpected(sample.error());
      if (sample->device == device) enter(layoutOf(*sample));
    }
  }
  return result;
}

}  // namespace pet
