import fake

__version__ = fake.VERSION


class Port:
    def __init__(self, value):
        self.name = value.name

    def get_any_name(self):
        return self.name


class Model:
    def __init__(self, path):
        self.session = fake.open_session(path)
        self.inputs, self.outputs = (list(map(Port, values)) for values in [self.session.get_inputs(), self.session.get_outputs()])

    def is_dynamic(self):
        return False

    def create_infer_request(self):
        return Request(self)


class Tensor:
    def __init__(self, data, shared_memory=False):
        self.data = data


class Request:
    def __init__(self, model):
        self.model, self.feeds = model, {}

    def set_input_tensor(self, position, tensor):
        self.feeds[self.model.inputs[position].name] = tensor.data

    def infer(self):
        self.results = fake.run(self.model.session, self.feeds)

    def get_output_tensor(self, position):
        return Tensor(self.results[position])


class Core:
    def read_model(self, path):
        return Model(path)

    def compile_model(self, model, device, config):
        assert device == "CPU" and config["INFERENCE_PRECISION_HINT"] == "f32"
        return model
