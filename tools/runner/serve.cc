#include "tools/runner/serve.h"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "ir/quantile.h"
#include "tools/engine/step_json.h"
#include "tools/runner/figures.h"

namespace pet::runner {
namespace {

using Json = nlohmann::ordered_json;

/// What is wrong with a request; becomes its answer.
struct Mistake {
  std::string what;
};

template <class T>
T orMistake(Expected<T> value) {
  if (!value) throw Mistake{value.error().message()};
  if constexpr (!std::is_void_v<T>) return std::move(*value);
}

/// A request's fields, with their kinds checked.
class Request {
 public:
  explicit Request(const Json& json) : json_(json), cmd_(json.at("cmd").get<std::string>()) {}

  std::string text(const char* name, const char* fallback = nullptr) const {
    auto it = json_.find(name);
    if (it == json_.end() && fallback) return fallback;
    if (it == json_.end() || !it->is_string()) wrong(name, "string");
    return it->get<std::string>();
  }
  int64_t integer(const char* name, int64_t fallback) const {
    auto it = json_.find(name);
    if (it == json_.end()) return fallback;
    if (!it->is_number_integer()) wrong(name, "integer");
    return notNegative(name, it->get<int64_t>());
  }
  double number(const char* name, double fallback) const {
    auto it = json_.find(name);
    if (it == json_.end()) return fallback;
    if (!it->is_number()) wrong(name, "number");
    return notNegative(name, it->get<double>());
  }
  bool flag(const char* name, bool fallback) const {
    auto it = json_.find(name);
    if (it == json_.end()) return fallback;
    if (!it->is_boolean()) wrong(name, "boolean");
    return it->get<bool>();
  }
  /// Paths by name.
  std::map<std::string, std::string> files(const char* name) const {
    auto it = json_.find(name);
    std::map<std::string, std::string> result;
    if (it == json_.end()) return result;
    if (!it->is_object()) wrong(name, "object of paths");
    for (const auto& [key, value] : it->items()) {
      if (!value.is_string()) wrong(name, "object of paths");
      result[key] = value.get<std::string>();
    }
    return result;
  }
  /// Numbers by name.
  std::map<std::string, int64_t, std::less<>> integers(const char* name) const {
    auto it = json_.find(name);
    std::map<std::string, int64_t, std::less<>> result;
    if (it == json_.end()) return result;
    if (!it->is_object()) wrong(name, "object of integers");
    for (const auto& [key, value] : it->items()) {
      if (!value.is_number_integer()) wrong(name, "object of integers");
      result[key] = notNegative(name, value.get<int64_t>());
    }
    return result;
  }
  std::vector<std::string> paths(const char* name) const {
    auto it = json_.find(name);
    std::vector<std::string> result;
    bool right = it != json_.end() && it->is_array() && !it->empty();
    for (size_t i = 0; right && i < it->size(); ++i) {
      right = (*it)[i].is_string();
      if (right) result.push_back((*it)[i].get<std::string>());
    }
    if (!right) throw Mistake{fmt::format("\"{}\" must be one or more paths", name)};
    return result;
  }

 private:
  [[noreturn]] void wrong(const char* name, const char* kind) const {
    throw Mistake{fmt::format("\"{}\" needs \"{}\": a {}", cmd_, name, kind)};
  }
  template <class T>
  T notNegative(const char* name, T value) const {
    if (value < 0) throw Mistake{fmt::format("\"{}\" is negative", name)};
    return value;
  }

  const Json& json_;
  std::string cmd_;
};

/// The models of a request, with inputs that are drawn for the first one.
struct Opened {
  std::vector<Session> sessions;
  Feeds inputs;
};

DrawOptions drawOptions(const Request& request) {
  return {.seed = static_cast<uint64_t>(request.integer("seed", 0)),
          .positive = request.flag("positive", false),
          .dims = request.integers("dims"),
          .shapes = {}};
}

Opened open(const Request& request, const std::vector<std::string>& paths, const Target& target) {
  OneDnnOptions processor;
  processor.threads = static_cast<int>(std::clamp<int64_t>(request.integer("threads", 1), 1, 1024));
  processor.winograd = request.flag("winograd", true);
  const Engines engines = target.engines(processor);
  Opened opened;
  for (const std::string& path : paths)
    opened.sessions.push_back(orMistake(Session::open(path, engines)));
  opened.inputs = orMistake(opened.sessions[0].drawInputs(drawOptions(request)));
  for (Session& session : opened.sessions)
    orMistake(session.setInputs(opened.inputs));
  return opened;
}

Json hello(const Target& target) {
  const Identity here = target.identity();
  const Machine& machine = here.machine;
  Json answer{{"engine", here.engine},
              {"version", here.version},
              {"device", here.device},
              {"providers", {here.provider}},
              {"isa", machine.isa},
              {"cpu", machine.cpu},
              {"vendor", machine.vendor},
              {"family", machine.family},
              {"model", machine.model},
              {"caches", {machine.l1d, machine.l2, machine.l3}},
              {"threads", 1}};
  Json properties = Json::parse(here.properties, nullptr, false);
  if (!properties.is_discarded()) answer["properties"] = std::move(properties);
  return answer;
}

Json timeModels(const Request& request, const Target& target) {
  std::vector<std::string> paths = request.paths("models");
  TimingOptions options{request.integer("runs", 20), request.integer("warmup", 2), request.number("budget_s", 10)};
  if (options.runs < 1) throw Mistake{"\"runs\" must be at least 1"};
  bool cold = request.flag("cold", false);
  options.processorTime = request.flag("processor_time", false);
  if (options.processorTime && request.integer("threads", 1) > 1) throw Mistake{"\"processor_time\" is for one thread"};
  request.flag("optimise", true);
  Opened opened = open(request, paths, target);
  std::vector<double> differences;
  for (Session& session : opened.sessions) {
    orMistake(session.run());
    if (differences.empty() && !std::isfinite(maxAbs(session)))
      throw Mistake{session.path() + ": its outputs are not finite, so nothing can be compared to them"};
    differences.push_back(orMistake(maxAbsDiff(opened.sessions[0], session)));
    if (!std::isfinite(differences.back()))
      throw Mistake{session.path() + ": its outputs are not finite where the first model's are"};
  }
  double scale = maxAbs(opened.sessions[0]);
  if (cold) options.flush = target.cacheFlush();
  auto samples = orMistake(timeInTurns(opened.sessions, options));
  Json answer{{"samples", samples}};
  for (auto [name, fraction] : {std::pair{"median", 0.5}, {"p10", 0.1}, {"p90", 0.9}}) {
    for (const auto& list : samples)
      answer[name].push_back(quantile(list, fraction));
  }
  answer["max_abs_diff"] = differences;
  answer["max_abs"] = scale;
  return answer;
}

/// Statistics, null where not finite, and a checksum of the bytes.
Json summary(const std::string& name, const Constant& tensor) {
  double least = 0, most = 0, sum = 0, squares = 0;
  const std::vector<double> numbers = numbersOf(tensor);
  const auto count = static_cast<double>(numbers.size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    const double x = numbers[i];
    least = i == 0 || !(x >= least) ? x : least;
    most = i == 0 || !(x <= most) ? x : most;
    sum += x;
  }
  const double mean = numbers.empty() ? 0 : sum / count;
  for (double x : numbers)
    squares += (x - mean) * (x - mean);
  auto finite = [](double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); };
  return {{"name", name},
          {"type", session::numpyName(tensor.element)},
          {"shape", tensor.extents},
          {"min", finite(least)},
          {"max", finite(most)},
          {"mean", finite(mean)},
          {"std", finite(numbers.empty() ? 0 : std::sqrt(squares / count))},
          {"crc32", crc32(tensor.bytes->data(), tensor.bytes->size())}};
}

/// Nodes that the engine did not take.
Json fallenBack(const session::ModelSession& model) {
  Json list = Json::array();
  for (const EngineNote& note : model.notes()) {
    if (note.reference) list.push_back({{"node", note.node}, {"op", note.op}, {"how", note.how}});
  }
  return list;
}

Json runModel(const Request& request, const Target& target) {
  std::string path = request.text("model");
  request.flag("optimise", true);
  Opened opened = open(request, {path}, target);
  Session& session = opened.sessions[0];
  for (const auto& [name, file] : request.files("inputs")) {
    auto input = opened.inputs.find(name);
    if (input == opened.inputs.end()) throw Mistake{fmt::format("{}: it has no input {}", path, name)};
    orMistake(readNumbers(file, input->second));
  }
  orMistake(session.setInputs(opened.inputs));
  orMistake(session.run());
  Json outputs = Json::array();
  std::string folder = request.text("save", "");
  for (size_t i = 0; i < session.outputs().size(); ++i) {
    if (!folder.empty()) orMistake(writeNumbers(fmt::format("{}/{}", folder, i), session.outputs()[i]));
    outputs.push_back(summary(session.outputNames()[i], session.outputs()[i]));
  }
  return {{"outputs", outputs}, {"reference", fallenBack(session.model())}};
}

Json notesOf(const Request& request, const Target& target) {
  std::string path = request.text("model");
  Opened opened = open(request, {path}, target);
  const session::ModelSession& model = opened.sessions[0].model();
  Json nodes = Json::array();
  for (const EngineNote& note : model.notes()) {
    if (!note.how.empty()) nodes.push_back({{"node", note.node}, {"op", note.op}, {"how", note.how}});
  }
  return {{"nodes", nodes},
          {"reference", fallenBack(model)},
          {"arena_floats", model.arenaBytes() / static_cast<int64_t>(sizeof(float))}};
}

Json profile(const Request& request, const Target& target) {
  Opened opened = open(request, {request.text("model")}, target);
  return {{"steps", tool::jsonOf(orMistake(opened.sessions[0].profile()))}};
}

Json parse(const std::string& line) {
  Json json = Json::parse(line, nullptr, false);
  if (json.is_discarded()) throw Mistake{"not a JSON line"};
  if (!json.is_object() || !json.contains("cmd") || !json["cmd"].is_string())
    throw Mistake{"a request is an object with \"cmd\""};
  return json;
}

Json answerTo(const Json& json, const Target& target) {
  Request request(json);
  std::string cmd = json["cmd"].get<std::string>();
  if (cmd == "hello") return hello(target);
  if (cmd == "time") return timeModels(request, target);
  if (cmd == "run") return runModel(request, target);
  if (cmd == "notes") return notesOf(request, target);
  if (cmd == "profile") return profile(request, target);
  throw Mistake{fmt::format("unknown cmd '{}'; there are hello, time, run, notes, profile, quit", cmd)};
}

}  // namespace

void serve(std::istream& requests, const std::function<void(const std::string& line)>& answer, const Target& target) {
  for (std::string line; std::getline(requests, line);) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    Json reply;
    try {
      Json json = parse(line);
      if (json["cmd"] == "quit") return;
      reply = answerTo(json, target);
    } catch (const Mistake& mistake) {
      reply = {{"error", mistake.what}};
    } catch (const std::exception& e) {  // ours or the engine's: one bad model must not end a tuning
      reply = {{"error", e.what()}};
    }
    answer(reply.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
}

}  // namespace pet::runner
