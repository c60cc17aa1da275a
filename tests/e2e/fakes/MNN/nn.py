import fake
from MNN import expr


class Module:
    def __init__(self, path, inputs):
        self.session, self.inputs = fake.open_session(path), inputs

    def onForward(self, variables):
        feeds = {name: variable.read() for name, variable in zip(self.inputs, variables)}
        return list(map(expr.Computed, fake.run(self.session, feeds)))


def create_runtime_manager(configs):
    (config,) = configs
    assert config["precision"] == "high"
    return config


def load_module_from_file(path, inputs, outputs, runtime_manager):
    assert [value.name for value in fake.open_session(path).get_outputs()] == outputs and runtime_manager["numThread"] > 0
    return Module(path, inputs)
