// The module pet._pet: the C interface as functions. pet/__init__.py makes an interface for people of it.
//
// Arguments are objects that the functions convert themselves, and a session is a capsule: nanobind converts to C++'s
// types, and makes instances of classes, where nothing may be thrown, so that memory that runs out there would end the
// process.

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <pet/apply.h>
#include <pet/session.h>

namespace nb = nanobind;

namespace {

std::string textOf(nb::handle text) {
  Py_ssize_t size = 0;
  const char* bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (!bytes) nb::raise_python_error();
  return {bytes, static_cast<size_t>(size)};
}

nb::str strOf(const std::string& text) {
  return nb::str(text.data(), text.size());
}

std::string_view viewOf(const nb::bytes& bytes) {
  return {bytes.c_str(), bytes.size()};
}

// --- Rewriting ---

/// [(name, value)]
pet::RewriteOptions optionsOf(const nb::str& pack, const nb::list& options) {
  pet::RewriteOptions result;
  result.pack(textOf(pack));
  for (nb::handle option : options) {
    const auto pair = nb::cast<nb::tuple>(option);
    result.set(textOf(pair[0]), textOf(pair[1]));
  }
  return result;
}

/// (status, message, report, output, model): of a path, `model` is empty; of bytes, `output`.
nb::tuple tupleOf(const pet::RewriteResult& done) {
  const std::string_view model = done.model();
  return nb::make_tuple(static_cast<int>(done.status()), strOf(done.message()), strOf(done.report()),
                        strOf(done.output()), nb::bytes(model.data(), model.size()));
}

nb::tuple applyToFile(const nb::str& model, const nb::str& pack, const nb::list& options) {
  const std::string path = textOf(model);
  const auto all = optionsOf(pack, options);
  return tupleOf([&] {
    nb::gil_scoped_release others;
    return pet::apply(path, all);
  }());
}

nb::tuple applyToBytes(const nb::bytes& model, const nb::str& pack, const nb::list& options) {
  const auto all = optionsOf(pack, options);
  return tupleOf([&] {
    nb::gil_scoped_release others;
    return pet::applyToBytes(viewOf(model), all);
  }());
}

// --- Sessions ---

constexpr const char* kSession = "pet.Session";

nb::capsule capsuleOf(std::unique_ptr<pet::Session> session) {
  nb::capsule capsule(session.get(), kSession, [](void* s) noexcept { delete static_cast<pet::Session*>(s); });
  session.release();
  return capsule;
}

pet::Session& in(const nb::capsule& session) {
  return *static_cast<pet::Session*>(session.data(kSession));
}

pet::SessionSettings settingsOf(int threads, int plans, bool winograd) {
  pet::SessionSettings settings;
  settings.threads = threads;
  settings.plans = plans;
  settings.winograd = winograd;
  return settings;
}

nb::capsule openFile(const nb::str& model, int threads, int plans, bool winograd) {
  const std::string path = textOf(model);
  return capsuleOf([&] {
    nb::gil_scoped_release others;
    return std::make_unique<pet::Session>(path, settingsOf(threads, plans, winograd));
  }());
}

nb::capsule openBytes(const nb::bytes& model, int threads, int plans, bool winograd) {
  return capsuleOf([&] {
    nb::gil_scoped_release others;
    return std::make_unique<pet::Session>(pet::Session::ofBytes(viewOf(model), settingsOf(threads, plans, winograd)));
  }());
}

/// (status, message): of a session that is not ready, why.
nb::tuple stateOf(const nb::capsule& session) {
  return nb::make_tuple(static_cast<int>(in(session).status()), strOf(in(session).message()));
}

nb::list listOf(const std::vector<int64_t>& extents) {
  nb::list list;
  for (int64_t extent : extents)
    list.append(extent);
  return list;
}

/// [(name, ONNX's number of its type, extents)]
nb::list portsOf(const std::vector<pet::TensorView>& tensors) {
  nb::list ports;
  for (const pet::TensorView& t : tensors)
    ports.append(nb::make_tuple(strOf(t.name), t.type, listOf(t.extents)));
  return ports;
}

/// (name, number of its type, extents, bytes), which somebody keeps.
pet::TensorView tensorOf(const nb::tuple& input) {
  const auto bytes = nb::cast<nb::bytes>(input[3]);
  pet::TensorView tensor{textOf(input[0]), nb::cast<int>(input[1]), {}, bytes.c_str(), bytes.size()};
  for (nb::handle extent : nb::cast<nb::list>(input[2]))
    tensor.extents.push_back(nb::cast<int64_t>(extent));
  return tensor;
}

/// (status, message, [(type, extents, bytes)])
nb::tuple run(const nb::capsule& session, const nb::list& inputs) {
  std::vector<pet::TensorView> tensors;
  for (nb::handle input : inputs)
    tensors.push_back(tensorOf(nb::cast<nb::tuple>(input)));
  const auto values = [&] {
    nb::gil_scoped_release others;
    return in(session).run(tensors);
  }();
  nb::list outputs;
  for (size_t i = 0; i < values.size(); ++i) {
    const pet::TensorView t = values[i];
    outputs.append(nb::make_tuple(t.type, listOf(t.extents), nb::bytes(t.data, t.bytes)));
  }
  return nb::make_tuple(static_cast<int>(values.status()), strOf(values.message()), outputs);
}

}  // namespace

NB_MODULE(_pet, module) {
  module.attr("version") = pet_version();
  module.def("apply_to_file", applyToFile);
  module.def("apply_to_bytes", applyToBytes);
  module.def("open_file", openFile);
  module.def("open_bytes", openBytes);
  module.def("state", stateOf);
  module.def("inputs", [](const nb::capsule& session) { return portsOf(in(session).inputs()); });
  module.def("outputs", [](const nb::capsule& session) { return portsOf(in(session).outputs()); });
  module.def("arena_bytes", [](const nb::capsule& session) { return in(session).arenaBytes(); });
  module.def("run", run);
}
