#include "runtime/cuda/gpu/cudnn_plan.h"

#include <cudnn_frontend.h>
#include <fmt/format.h>

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

class CudnnCall final : public Call {
 public:
  CudnnCall(std::unique_ptr<Graph> graph, const CudnnTarget& target, bool transposed)
      : graph_(std::move(graph)), target_(target), transposed_(transposed) {}

  void run(std::span<const Address> pointers, Address workspace) override {
    if (!target_.handle) throw std::runtime_error("cuDNN's plan was built for a device that is not there");
    std::unordered_map<int64_t, void*> pack;
    for (size_t i = 0; i < pointers.size(); ++i)
      pack[static_cast<int64_t>(i) + kY] = pointers[i];
    auto status = graph_->execute(static_cast<cudnnHandle_t>(target_.handle), pack, workspace);
    if (status.is_bad()) throw std::runtime_error("cuDNN: " + status.get_message());
  }
  int64_t workspaceBytes() const override {
    int64_t bytes = 0;
    return graph_->get_workspace_size(bytes).is_good() ? bytes : 0;
  }
  std::string name() const override {
    std::string name;
    if (graph_->get_plan_name(name).is_bad()) name = "plan";
    return fmt::format("cuDNN {}{}", transposed_ ? "dgrad " : "", name);
  }

 private:
  std::unique_ptr<Graph> graph_;
  const CudnnTarget& target_;
  bool transposed_;
};

class Builder {
 public:
  Builder(const ConvCall& call, Precision precision, const CudnnTarget& target)
      : call_(call), precision_(precision), target_(target), graph_(std::make_unique<Graph>()) {}

  Expected<std::unique_ptr<Call>> build() {
    graph_->set_io_data_type(typeOf(precision_))
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
    if (auto ok = aim(); ok.is_bad()) return refused(ok);
    if (!describe()) return fail(ErrorKind::kUnsupported, "a function that cuDNN has not behind a convolution");
    auto ok = graph_->validate();
    if (ok.is_good()) ok = operationGraph();
    if (ok.is_good()) ok = graph_->create_execution_plans({fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK});
    if (precision_ == Precision::kFp32) graph_->deselect_numeric_notes({fe::NumericalNote_t::TENSOR_CORE});
    if (ok.is_good()) ok = supported();
    if (ok.is_good()) ok = plans();
    if (ok.is_bad()) return refused(ok);
    return std::make_unique<CudnnCall>(std::move(graph_), target_, call_.transposed);
  }

 private:
  using Status = fe::error_t;
  cudnnHandle_t handle() const { return static_cast<cudnnHandle_t>(target_.handle); }
  Status operationGraph() {
    return handle() ? graph_->build_operation_graph(handle()) : graph_->build_operation_graph();
  }
  Status supported() { return handle() ? graph_->check_support(handle()) : graph_->check_support(); }
  Status plans() { return handle() ? graph_->build_plans(handle()) : graph_->build_plans(); }

  static tl::unexpected<Error> refused(Status status) {
    return fail(ErrorKind::kUnsupported, fmt::format("cuDNN: {}", status.get_message()));
  }

  /// At the device that is not there.
  Status aim() {
    if (handle()) return {};
    auto properties = std::make_shared<fe::DeviceProperties>();
    auto ok = properties->deserialize({target_.properties.begin(), target_.properties.end()});
    if (ok.is_good()) graph_->set_device_properties(properties).set_sm_version(target_.architecture);
    return ok;
  }

  bool describe() {
    Node x = graph_->tensor(described(call_.x, kX)), w = graph_->tensor(described(call_.w, kW)), y;
    if (call_.transposed) {
      y = graph_->conv_dgrad(x, w,
                             fe::graph::Conv_dgrad_attributes()
                                 .set_pre_padding(call_.before)
                                 .set_post_padding(call_.after)
                                 .set_stride(call_.strides)
                                 .set_dilation(call_.dilations));
      y->set_dim(call_.y.extents).set_stride(call_.y.strides);
    } else {
      y = graph_->conv_fprop(x, w,
                             fe::graph::Conv_fprop_attributes()
                                 .set_pre_padding(call_.before)
                                 .set_post_padding(call_.after)
                                 .set_stride(call_.strides)
                                 .set_dilation(call_.dilations));
    }
    int64_t next = kFirstFurther;
    const auto add = fe::graph::Pointwise_attributes().set_mode(fe::PointwiseMode_t::ADD);
    if (call_.bias) y = graph_->pointwise(y, graph_->tensor(described(channelForm(call_.y), next++)), add);
    if (call_.added) y = graph_->pointwise(y, graph_->tensor(described(*call_.added, next++)), add);
    if (call_.activation) {
      auto function = pointwiseOf(*call_.activation);
      if (!function) return false;
      y = graph_->pointwise(y, *function);
    }
    y->set_output(true)
        .set_uid(kY)
        .set_dim(call_.y.extents)
        .set_stride(call_.y.strides)
        .set_data_type(typeOf(precision_));
    return true;
  }

  const ConvCall& call_;
  Precision precision_;
  const CudnnTarget& target_;
  std::unique_ptr<Graph> graph_;
};

}  // namespace

Expected<std::unique_ptr<Call>> cudnnConv(const ConvCall& call, Precision precision, const CudnnTarget& target) {
  return Builder(call, precision, target).build();
}

std::string cudnnVersion() {
  const size_t version = cudnnGetVersion();
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

}  // namespace pet::cuda
