#include "tools/runner/session.h"

#include <fstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace pet::runner {

Expected<Session> Session::open(const std::string& path, const Engines& engines) {
  auto model = session::ModelSession::open(path, engines);
  if (model) return Session(std::move(*model));
  Error error = model.error();
  error.where.clear();
  return fail(ErrorKind::kModel, fmt::format("{}: the engine cannot load it: {}", path, error.message()));
}

Expected<void> Session::setInputs(const Feeds& inputs) {
  std::map<std::string, Extents> extents;
  std::vector<std::string> given, wanted;
  for (const auto& [name, tensor] : inputs) {
    extents[name] = tensor.extents;
    given.push_back(fmt::format("{}: {}{}", name, session::numpyName(tensor.element), str(tensor.extents)));
  }
  for (const session::Port& port : model_->inputs())
    wanted.push_back(port.text());
  bool same = extents.size() == wanted.size();
  for (const session::Port& port : model_->inputs()) {
    auto it = inputs.find(port.name);
    same = same && it != inputs.end() && it->second.element == port.element;
  }
  if (!same || !model_->prepare(extents)) {
    return fail(ErrorKind::kModel, fmt::format("{}: its inputs are {}, the first model's {}", path(),
                                               fmt::join(wanted, "; "), fmt::join(given, "; ")));
  }
  inputs_ = inputs;
  return {};
}

tl::unexpected<Error> Session::cannotRun(const Error& error) const {
  return fail(ErrorKind::kModel, fmt::format("{}: the engine cannot run it: {}", path(), error.message()));
}

Expected<void> Session::run() {
  auto ran = model_->run(inputs_);
  if (!ran) return cannotRun(ran.error());
  outputs_ = std::move(*ran);
  return {};
}

Expected<std::optional<double>> Session::again() {
  auto ran = model_->again(inputs_);
  if (!ran) return cannotRun(ran.error());
  return ran;
}

Expected<std::vector<StepTime>> Session::profile() {
  auto steps = model_->profile(inputs_);
  if (!steps) return cannotRun(steps.error());
  return steps;
}

std::vector<std::string> Session::outputNames() const {
  std::vector<std::string> names;
  for (const session::Port& port : model_->outputs())
    names.push_back(port.name);
  return names;
}

std::vector<double> numbersOf(const Constant& tensor) {
  if (auto numbers = tensor.numbers()) return std::move(*numbers);
  const Tensor<int64_t> integers = tensor.values<int64_t>();
  return {integers.data.begin(), integers.data.end()};
}

Expected<void> readNumbers(const std::string& path, Constant& into) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(into.bytes->size(), '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file || file.peek() != std::ifstream::traits_type::eof())
    return fail(ErrorKind::kUsage, fmt::format("it is not a file of {} bytes", bytes.size()), path);
  into.bytes = std::move(bytes);
  return {};
}

Expected<void> writeNumbers(const std::string& path, const Constant& tensor) {
  std::ofstream file(path, std::ios::binary);
  file.write(tensor.bytes->data(), static_cast<std::streamsize>(tensor.bytes->size()));
  file.close();
  if (!file) return fail(ErrorKind::kUsage, "it cannot be written", path);
  return {};
}

}  // namespace pet::runner
