#include "runtime/cuda/gpu/cudnn_plan.h"

#include <algorithm>
#include <set>
#include <stdexcept>

#include <cudnn_frontend.h>
#include <fmt/format.h>

#include "runtime/cuda/problem.h"

namespace pet::cuda {
namespace {

namespace fe = cudnn_frontend;
using fe::graph::Graph;
using Node = std::shared_ptr<fe::graph::Tensor_attributes>;

/// The position of a pointer in a call, from 1 on, is the name of its tensor.
enum Uid : int64_t { kY = 1, kX, kW, kFirstFurther };

fe::DataType_t typeOf(Precision precision) {
  switch (precision) {
    case Precision::kFp16:
      return fe::DataType_t::HALF;
    case Precision::kBf16:
      return fe::DataType_t::BFLOAT16;
    case Precision::kFp32:
    case Precision::kTf32:
      break;
  }
  return fe::DataType_t::FLOAT;
}

fe::graph::Tensor_attributes described(const TensorForm& form, int64_t uid) {
  return fe::graph::Tensor_attributes().set_dim(form.extents).set_stride(form.strides).set_uid(uid);
}

/// One number for each channel, in the order of the dimensions that the result has.
TensorForm channelForm(const TensorForm& y) {
  TensorForm form{Extents(y.extents.size(), 1), std::vector<int64_t>(y.extents.size(), 1)};
  form.extents[1] = y.extents[1];
  const bool innermost = y.strides[1] == 1;
  for (size_t d = 0; d < form.strides.size(); ++d)
    form.strides[d] = d == 0 || (innermost && d > 1) ? y.extents[1] : 1;
  return form;
}

/// The function as cuDNN has it, right behind a convolution.
std::optional<fe::graph::Pointwise_attributes> pointwiseOf(const plan::Activation& activation) {
  using plan::Function;
  using Mode = fe::PointwiseMode_t;
  fe::graph::Pointwise_attributes attributes;
  switch (activation.function) {
    case Function::kRelu:
      return attributes.set_mode(Mode::RELU_FWD).set_relu_lower_clip_slope(activation.alpha);
    case Function::kClip:
      if (activation.alpha != 0) return std::nullopt;
      return attributes.set_mode(Mode::RELU_FWD).set_relu_lower_clip(0).set_relu_upper_clip(activation.beta);
    case Function::kSigmoid:
      return attributes.set_mode(Mode::SIGMOID_FWD);
    case Function::kTanh:
      return attributes.set_mode(Mode::TANH_FWD);
    case Function::kGeluErf:
      return attributes.set_mode(Mode::GELU_FWD);
    case Function::kGeluTanh:
      return attributes.set_mode(Mode::GELU_APPROX_TANH_FWD);
    case Function::kSwish:
      return attributes.set_mode(Mode::SWISH_FWD).set_swish_beta(activation.alpha);
    case Function::kSoftplus:
      return attributes.set_mode(Mode::SOFTPLUS_FWD);
    default:
      return std::nullopt;
  }
}

/// The graph's plan of this number.
class CudnnCall final : public Call {
 public:
  CudnnCall(std::shared_ptr<Graph> graph, int64_t plan, std::string name, const CudnnTarget& target)
      : graph_(std::move(graph)), plan_(plan), name_(std::move(name)), target_(target) {}

  void run(std::span<const Address> pointers, Address workspace) override {
    if (!target_.handle) throw std::runtime_error("cuDNN's plan was built for a device that is not there");
    std::unordered_map<int64_t, void*> pack;
    for (size_t i = 0; i < pointers.size(); ++i)
      pack[static_cast<int64_t>(i) + kY] = pointers[i];
    auto status = graph_->execute_plan_at_index(static_cast<cudnnHandle_t>(target_.handle), pack, workspace, plan_);
    if (status.is_bad()) throw std::runtime_error("cuDNN: " + status.get_message());
  }
  int64_t workspaceBytes() const override {
    int64_t bytes = 0;
    return graph_->get_workspace_size_plan_at_index(plan_, bytes).is_good() ? bytes : 0;
  }
  std::string name() const override { return "cuDNN " + name_; }
  /// The name, and the plan in cuDNN's form, in which it has its compiled kernel.
  std::string kept() const override {
    std::vector<uint8_t> bytes;
    const bool isCandidate = graph_->build_plan_at_index(plan_).is_good();
    if (!isCandidate || graph_->serialize(bytes, false).is_bad()) return "";
    return name_ + "\n" + json::from_ubjson(bytes).dump();
  }

 private:
  std::shared_ptr<Graph> graph_;
  int64_t plan_;
  std::string name_;
  const CudnnTarget& target_;
};

/// Describes a call as a graph.
class Description {
 public:
  virtual ~Description() = default;
  /// "", or why cuDNN has no such graph. The result's tensor comes with its dimensions.
  virtual std::string describe(Graph& graph, Node& y) const = 0;
  /// Something else computes it where cuDNN has no plan, and as fast as one that is compiled.
  virtual bool hasAlternative(Precision) const { return false; }
  /// What plans' names begin with.
  virtual std::string_view prefix() const { return ""; }
  virtual const TensorForm& y() const = 0;
  virtual std::string problem(Precision precision) const = 0;
  virtual std::vector<int64_t> elements() const = 0;
};

/// What all say of their calls.
template <class CallKind>
class DescriptionOf : public Description {
 public:
  explicit DescriptionOf(CallKind call) : call_(std::move(call)) {}
  const TensorForm& y() const override { return call_.y; }
  std::string problem(Precision precision) const override { return problemOf(call_, precision); }
  std::vector<int64_t> elements() const override { return elementsOf(call_); }

 protected:
  const CallKind call_;
};

class ConvDescription final : public DescriptionOf<ConvCall> {
 public:
  using DescriptionOf::DescriptionOf;

  std::string describe(Graph& graph, Node& y) const override {
    y = convolution(graph);
    int64_t next = kFirstFurther;
    const auto add = fe::graph::Pointwise_attributes().set_mode(fe::PointwiseMode_t::ADD);
    if (call_.bias) y = graph.pointwise(y, graph.tensor(described(channelForm(call_.y), next++)), add);
    if (call_.added) y = graph.pointwise(y, graph.tensor(described(*call_.added, next++)), add);
    if (call_.activation) {
      auto function = pointwiseOf(*call_.activation);
      if (!function) return "a function that cuDNN has not behind a convolution";
      y = graph.pointwise(y, *function);
    }
    return "";
  }
  /// In float, what is compiled for the functions behind a convolution takes 4 to 15 times as long as its own plans
  /// (cuDNN 9.19, H200), and up to 12 s to build.
  bool hasAlternative(Precision precision) const override {
    return precision == Precision::kFp32 && (call_.bias || call_.added || call_.activation);
  }
  std::string_view prefix() const override { return call_.transposed ? "dgrad " : ""; }

 private:
  Node convolution(Graph& graph) const {
    auto x = graph.tensor(described(call_.x, kX)), w = graph.tensor(described(call_.w, kW));
    if (!call_.transposed) return graph.conv_fprop(x, w, with(fe::graph::Conv_fprop_attributes()));
    Node y = graph.conv_dgrad(x, w, with(fe::graph::Conv_dgrad_attributes()));
    y->set_dim(call_.y.extents).set_stride(call_.y.strides);
    return y;
  }
  template <class Attributes>
  Attributes with(Attributes attributes) const {
    return attributes.set_pre_padding(call_.before)
        .set_post_padding(call_.after)
        .set_stride(call_.strides)
        .set_dilation(call_.dilations);
  }
};

class AttentionDescription final : public DescriptionOf<AttentionCall> {
 public:
  using DescriptionOf::DescriptionOf;

  std::string describe(Graph& graph, Node& y) const override {
    int64_t next = kX;
    auto tensor = [&](const TensorForm& form) { return graph.tensor(described(form, next++)); };
    const Node q = tensor(call_.q), k = tensor(call_.k), v = tensor(call_.v);
    auto attributes = fe::graph::SDPA_attributes().set_name("attention").set_generate_stats(false);
    attributes.set_attn_scale(call_.scale);
    if (call_.bias) attributes.set_bias(tensor(*call_.bias));
    if (call_.causal)
      attributes.set_diagonal_alignment(fe::DiagonalAlignment_t::TOP_LEFT).set_diagonal_band_right_bound(0);
    y = graph.sdpa(q, k, v, attributes)[0];
    return "";
  }
  std::string_view prefix() const override { return "attention "; }
};

class PoolDescription final : public DescriptionOf<PoolCall> {
 public:
  using DescriptionOf::DescriptionOf;

  std::string describe(Graph& graph, Node& y) const override {
    using Mode = fe::ResampleMode_t;
    if (std::any_of(call_.dilations.begin(), call_.dilations.end(), [](int64_t d) { return d > 1; }))
      return "windows with gaps, which cuDNN has not";
    if (endsBehindPads()) return "windows that end behind the pads, which cuDNN has not";
    const Mode mean = call_.countsPads ? Mode::AVGPOOL_INCLUDE_PADDING : Mode::AVGPOOL_EXCLUDE_PADDING;
    const auto attributes =
        fe::graph::Resample_attributes()
            .set_resampling_mode(call_.isMax ? Mode::MAXPOOL : mean)
            .set_padding_mode(call_.isMax ? fe::PaddingMode_t::NEG_INF_PAD : fe::PaddingMode_t::ZERO_PAD)
            .set_generate_index(false)
            .set_window(call_.kernel)
            .set_stride(call_.strides)
            .set_pre_padding(call_.before)
            .set_post_padding(call_.after);
    y = graph.resample(graph.tensor(described(call_.x, kX)), attributes)[0];
    return "";
  }
  std::string_view prefix() const override { return "pool "; }

 private:
  bool endsBehindPads() const {
    for (size_t d = 0; d < call_.kernel.size(); ++d) {
      const int64_t padded = call_.x.extents[2 + d] + call_.before[d] + call_.after[d];
      if ((call_.y.extents[2 + d] - 1) * call_.strides[d] + call_.kernel[d] > padded) return true;
    }
    return false;
  }
};

class NormDescription final : public DescriptionOf<NormCall> {
 public:
  using DescriptionOf::DescriptionOf;

  std::string describe(Graph& graph, Node& y) const override {
    using Kind = NormCall::Kind;
    const Node x = graph.tensor(described(call_.x, kX));
    const Node scale = graph.tensor(described(channelForm(call_.y), kW));
    Node shift = call_.shift ? graph.tensor(described(channelForm(call_.y), kFirstFurther)) : nullptr;
    switch (call_.kind) {
      case Kind::kLayer:
        y = graph.layernorm(x, scale, shift, with(graph, fe::graph::Layernorm_attributes()))[0];
        return "";
      case Kind::kInstance:
        y = graph.instancenorm(x, scale, shift, with(graph, fe::graph::Instancenorm_attributes()))[0];
        return "";
      case Kind::kRms:
        break;
    }
    auto attributes = with(graph, fe::graph::Rmsnorm_attributes());
    if (shift) attributes.set_bias(shift);
    y = graph.rmsnorm(x, scale, attributes)[0];
    return "";
  }
  std::string_view prefix() const override { return "norm "; }

 private:
  template <class Attributes>
  Attributes with(Graph& graph, Attributes attributes) const {
    Node epsilon = graph.tensor(call_.epsilon);
    return attributes.set_forward_phase(fe::NormFwdPhase_t::INFERENCE).set_epsilon(epsilon);
  }
};

/// At the device that is not there.
fe::error_t aim(Graph& graph, const CudnnTarget& target) {
  if (target.handle) return {};
  auto properties = std::make_shared<fe::DeviceProperties>();
  auto ok = properties->deserialize({target.properties.begin(), target.properties.end()});
  if (ok.is_good()) graph.set_device_properties(properties).set_sm_version(target.architecture);
  return ok;
}

using Notes = std::vector<fe::NumericalNote_t>;
using Behaviour = fe::BehaviorNote_t;
constexpr Behaviour kCompiled = Behaviour::RUNTIME_COMPILATION;

/// What plans do with numbers that a precision does not admit: sums in the precision of memory; in float, rounded
/// factors.
Notes refusedNotes(Precision precision) {
  using Note = fe::NumericalNote_t;
  if (precision != Precision::kFp32) return {Note::REDUCED_PRECISION_REDUCTION};
  return {Note::REDUCED_PRECISION_REDUCTION, Note::TENSOR_CORE, Note::DOWN_CONVERT_INPUTS};
}

/// What is taken only where there is nothing else: other results at each run; errors that are those of no sum.
Notes unwantedNotes() {
  using Note = fe::NumericalNote_t;
  return {Note::NONDETERMINISTIC, Note::FFT, Note::WINOGRAD_TILE_13x13};
}

class CudnnPlans final : public Plans {
 public:
  CudnnPlans(std::unique_ptr<Description> description, Precision precision, const CudnnTarget& target)
      : description_(std::move(description)), precision_(precision), target_(target) {}

  std::string problem() const override {
    return fmt::format("cuDNN {}, cudnn-frontend {}, form {}: {}", cudnnVersion(), CUDNN_FRONTEND_VERSION, kForm,
                       description_->problem(precision_));
  }
  std::vector<int64_t> elements() const override { return description_->elements(); }

  Expected<size_t> count() override {
    auto ok = ask(true);
    if (!ok) ok = ask(false);
    if (!ok) return tl::unexpected(ok.error());
    std::set<std::string> seen;  // several heuristics name the same ones
    for (int64_t i = 0; i < graph_->get_execution_plan_count(); ++i) {
      std::string name;
      if (!graph_->get_plan_name_at_index(i, name).is_good() || !seen.insert(name).second) continue;
      std::vector<Behaviour> notes;
      const bool known = graph_->get_behavior_notes_for_plan_at_index(i, notes).is_good();
      const bool compiled = known && std::find(notes.begin(), notes.end(), kCompiled) != notes.end();
      plans_.push_back({i, name, compiled});
    }
    std::stable_partition(plans_.begin(), plans_.end(), [](const Known& plan) { return !plan.compiled; });
    return plans_.size();
  }
  bool isCompiled(size_t i) const override { return plans_[i].compiled; }

  Expected<std::unique_ptr<Call>> build(size_t i) override {
    const auto& [plan, name, compiled] = plans_[i];
    if (auto ok = graph_->build_plan_at_index(plan); ok.is_bad()) return refused(ok);
    return std::make_unique<CudnnCall>(graph_, plan, std::string(description_->prefix()) + name, target_);
  }

  Expected<std::unique_ptr<Call>> restore(const std::string& kept) override {
    const size_t name = kept.find('\n');
    const auto plan = name == std::string::npos ? json() : json::parse(kept.substr(name + 1), nullptr, false);
    if (!plan.is_object()) return fail(ErrorKind::kUnsupported, "no plan of cuDNN's");
    auto graph = std::make_shared<Graph>();
    try {
      auto ok = aim(*graph, target_);
      if (ok.is_good())
        ok = handle() ? graph->deserialize(handle(), plan, false, false) : graph->deserialize(json::to_ubjson(plan));
      if (ok.is_bad()) return refused(ok);
    } catch (const std::exception& e) {
      return fail(ErrorKind::kUnsupported, e.what());
    }
    return std::make_unique<CudnnCall>(std::move(graph), 0, kept.substr(0, name), target_);
  }

  /// Up to the heuristics' answer; `wanted`: without what is unwanted.
  Expected<void> ask(bool wanted) {
    graph_ = std::make_shared<Graph>();
    graph_->set_io_data_type(typeOf(precision_))
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
    auto ok = aim(*graph_, target_);
    if (ok.is_bad()) return refused(ok);
    if (const std::string why = describe(); !why.empty()) return fail(ErrorKind::kUnsupported, why);
    ok = graph_->validate();
    if (ok.is_good()) ok = handle() ? graph_->build_operation_graph(handle()) : graph_->build_operation_graph();
    std::vector<fe::HeurMode_t> modes{fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK};
    if (handle()) modes.insert(modes.begin() + 1, fe::HeurMode_t::B);  // more to time
    if (ok.is_good()) ok = graph_->create_execution_plans(modes);
    graph_->deselect_numeric_notes(refusedNotes(precision_));
    if (wanted) graph_->deselect_numeric_notes(unwantedNotes());
    if (description_->hasAlternative(precision_)) graph_->deselect_behavior_notes({kCompiled});
    if (ok.is_good()) ok = handle() ? graph_->check_support(handle()) : graph_->check_support();
    if (ok.is_bad()) return refused(ok);
    return {};
  }

 private:
  /// Raised when a kept plan is no longer what describe() would make of its problem.
  static constexpr int kForm = 3;

  cudnnHandle_t handle() const { return static_cast<cudnnHandle_t>(target_.handle); }

  static tl::unexpected<Error> refused(fe::error_t status) {
    const std::string message = status.get_message();
    return fail(ErrorKind::kUnsupported, fmt::format("cuDNN: {}", message.substr(0, message.find('\n'))));
  }

  std::string describe() {
    Node y;
    std::string why = description_->describe(*graph_, y);
    if (!why.empty()) return why;
    y->set_output(true)
        .set_uid(kY)
        .set_dim(description_->y().extents)
        .set_stride(description_->y().strides)
        .set_data_type(typeOf(precision_));
    return "";
  }

  std::unique_ptr<Description> description_;
  Precision precision_;
  const CudnnTarget& target_;
  std::shared_ptr<Graph> graph_;
  struct Known {
    int64_t plan;
    std::string name;
    bool compiled;
  };
  std::vector<Known> plans_;  ///< each name once, compiled ones last
};

}  // namespace

std::unique_ptr<Plans> cudnnConv(const ConvCall& call, Precision precision, const CudnnTarget& target) {
  return std::make_unique<CudnnPlans>(std::make_unique<ConvDescription>(call), precision, target);
}

Expected<std::unique_ptr<Plans>> cudnnAttention(const AttentionCall& call,
                                                Precision precision,
                                                const CudnnTarget& target) {
  if (precision != Precision::kFp16 && precision != Precision::kBf16)
    return fail(ErrorKind::kUnsupported, "cuDNN is asked for attention in fp16 and bf16 only");
  return std::make_unique<CudnnPlans>(std::make_unique<AttentionDescription>(call), precision, target);
}

std::unique_ptr<Plans> cudnnPool(const PoolCall& call, Precision precision, const CudnnTarget& target) {
  return std::make_unique<CudnnPlans>(std::make_unique<PoolDescription>(call), precision, target);
}

std::unique_ptr<Plans> cudnnNorm(const NormCall& call, Precision precision, const CudnnTarget& target) {
  return std::make_unique<CudnnPlans>(std::make_unique<NormDescription>(call), precision, target);
}

std::string cudnnVersion() {
  const size_t version = cudnnGetVersion();
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

std::string cudnnProperties(int device) {
  fe::DeviceProperties properties;
  std::vector<uint8_t> text;
  if (!properties.set_device_id(device).build().is_good() || !properties.serialize(text).is_good()) return "";
  return std::string(text.begin(), std::find(text.begin(), text.end(), 0));
}

}  // namespace pet::cuda
