import contextlib

import fake

__version__ = fake.VERSION


class Tensor:
    def __init__(self, data):
        self.data = data

    def contiguous(self):
        return self

    def numpy(self):
        return self.data


def from_numpy(data):
    return Tensor(data)


def set_num_threads(threads):
    assert threads > 0


def compile(module, dynamic):
    return module


inference_mode = contextlib.nullcontext
