// The module pet._pet: the C interface as functions. pet/__init__.py makes an interface for people of it.

#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>
#include <pet/apply.h>
#include <pet/session.h>

namespace nb = nanobind;

namespace {

using Options = std::vector<std::pair<std::string, std::string>>;

pet::RewriteOptions optionsOf(const std::string& pack, const Options& options) {
  pet::RewriteOptions result;
  result.pack(pack);
  for (const auto& [name, value] : options)
    result.set(name, value);
  return result;
}

/// (status, message, report, output, model): of a path, `model` is empty; of bytes, `output`.
nb::tuple tupleOf(const pet::RewriteResult& done) {
  const std::string_view model = done.model();
  return nb::make_tuple(static_cast<int>(done.status()), done.message(), done.report(), done.output(),
                        nb::bytes(model.data(), model.size()));
}

nb::tuple applyToFile(const std::string& model, const std::string& pack, const Options& options) {
  const auto all = optionsOf(pack, options);
  nb::gil_scoped_release others;
  const auto done = pet::apply(model, all);
  nb::gil_scoped_acquire again;
  return tupleOf(done);
}

nb::tuple applyToBytes(const nb::bytes& model, const std::string& pack, const Options& options) {
  const auto all = optionsOf(pack, options);
  const std::string_view bytes(model.c_str(), model.size());
  nb::gil_scoped_release others;
  const auto done = pet::applyToBytes(bytes, all);
  nb::gil_scoped_acquire again;
  return tupleOf(done);
}

// --- Sessions ---

/// (name, ONNX's number of its type, extents), and of a value its bytes.
using Port = std::tuple<std::string, int, std::vector<int64_t>>;

std::vector<Port> portsOf(const std::vector<pet::TensorView>& tensors) {
  std::vector<Port> ports;
  for (const pet::TensorView& t : tensors)
    ports.emplace_back(t.name, t.type, t.extents);
  return ports;
}

pet::SessionSettings settingsOf(int threads, int plans, bool winograd) {
  pet::SessionSettings settings;
  settings.threads = threads;
  settings.plans = plans;
  settings.winograd = winograd;
  return settings;
}

/// A session, or why there is none.
class Opened {
 public:
  explicit Opened(pet::Session session) : session_(std::move(session)) {}
  int status() const { return static_cast<int>(session_.status()); }
  std::string message() const { return session_.message(); }
  std::vector<Port> inputs() const { return portsOf(session_.inputs()); }
  std::vector<Port> outputs() const { return portsOf(session_.outputs()); }
  int64_t arenaBytes() const { return session_.arenaBytes(); }

  /// (status, message, [(type, extents, bytes)]). The caller keeps the inputs' bytes.
  nb::tuple run(const std::vector<std::tuple<std::string, int, std::vector<int64_t>, nb::bytes>>& inputs) {
    std::vector<pet::TensorView> tensors;
    for (const auto& [name, type, extents, bytes] : inputs)
      tensors.push_back({name, type, extents, bytes.c_str(), bytes.size()});
    auto values = [&] {
      nb::gil_scoped_release others;
      return session_.run(tensors);
    }();
    nb::list outputs;
    for (size_t i = 0; i < values.size(); ++i) {
      const pet::TensorView t = values[i];
      outputs.append(nb::make_tuple(t.type, t.extents, nb::bytes(t.data, t.bytes)));
    }
    return nb::make_tuple(static_cast<int>(values.status()), values.message(), outputs);
  }

 private:
  pet::Session session_;
};

std::unique_ptr<Opened> openFile(const std::string& model, int threads, int plans, bool winograd) {
  nb::gil_scoped_release others;
  return std::make_unique<Opened>(pet::Session(model, settingsOf(threads, plans, winograd)));
}

std::unique_ptr<Opened> openBytes(const nb::bytes& model, int threads, int plans, bool winograd) {
  const std::string_view bytes(model.c_str(), model.size());
  nb::gil_scoped_release others;
  return std::make_unique<Opened>(pet::Session::ofBytes(bytes, settingsOf(threads, plans, winograd)));
}

}  // namespace

NB_MODULE(_pet, module) {
  module.attr("version") = pet_version();
  module.def("apply_to_file", applyToFile);
  module.def("apply_to_bytes", applyToBytes);
  nb::class_<Opened>(module, "Session")
      .def("status", &Opened::status)
      .def("message", &Opened::message)
      .def("inputs", &Opened::inputs)
      .def("outputs", &Opened::outputs)
      .def("arena_bytes", &Opened::arenaBytes)
      .def("run", &Opened::run);
  module.def("open_file", openFile);
  module.def("open_bytes", openBytes);
}
