#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/engines.h"
#include "session/draw_inputs.h"

namespace pet::runner {

using session::DrawOptions;
using session::Feeds;

/// A model of a file, on our engine, with the inputs that it is run on.
class Session {
 public:
  /// Errors say the path.
  static Expected<Session> open(const std::string& path, const Engines& engines);

  const std::string& path() const { return model_->name(); }
  const session::ModelSession& model() const { return *model_; }
  Expected<Feeds> drawInputs(const DrawOptions& options) const { return session::drawInputs(*model_, options); }
  /// Takes inputs of the same names, types and extents as its own, else an error.
  Expected<void> setInputs(const Feeds& inputs);
  /// Runs on what setInputs() was given.
  Expected<void> run();
  /// The same once more, for timing: what run() computed stays. Seconds as in ModelSession::again().
  Expected<std::optional<double>> again();
  /// A run, and what each of its steps takes.
  Expected<std::vector<StepTime>> profile();
  /// What the last run() has computed.
  std::vector<std::string> outputNames() const;
  const std::vector<Constant>& outputs() const { return outputs_; }

 private:
  tl::unexpected<Error> cannotRun(const Error& error) const;
  explicit Session(std::unique_ptr<session::ModelSession> model) : model_(std::move(model)) {}
  std::unique_ptr<session::ModelSession> model_;
  Feeds inputs_;
  std::vector<Constant> outputs_;
};

/// The numbers of a tensor of any type.
std::vector<double> numbersOf(const Constant& tensor);

/// Row-major little-endian numbers, exactly as many as the tensor has.
Expected<void> readNumbers(const std::string& path, Constant& into);
Expected<void> writeNumbers(const std::string& path, const Constant& tensor);

}  // namespace pet::runner
