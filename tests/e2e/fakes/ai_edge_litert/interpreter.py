import fake
import numpy as np


class Interpreter:
    """Its first output of several dimensions has its channels last."""

    def __init__(self, model_path, num_threads):
        assert num_threads > 0
        self.session = fake.open_session(model_path)
        self.values = {}

    def resize_tensor_input(self, index, extents):
        pass

    def allocate_tensors(self):
        pass

    def get_input_details(self):
        return [{"name": value.name, "index": value.name, "dtype": np.float32} for value in self.session.get_inputs()]

    def get_output_details(self):
        return [{"index": position} for position in range(len(self.session.get_outputs()))]

    def set_tensor(self, index, array):
        self.values[index] = array

    def invoke(self):
        self.results = fake.run(self.session, self.values)

    def get_tensor(self, index):
        array = self.results[index]
        return np.moveaxis(array, 1, -1) if index == 0 and array.ndim > 2 else array
