import contextlib
import os

import fake

__version__ = fake.VERSION


class Tensor:
    def __init__(self, data):
        self.data = data

    def contiguous(self):
        return self

    def numpy(self):
        return self.data

    def cuda(self):
        return self

    cpu = cuda


def from_numpy(data):
    return Tensor(data)


def set_num_threads(threads):
    assert threads > 0


def compile(module, dynamic):
    return module


class cuda:
    """A GPU where the environment says so, which is the processor."""

    @staticmethod
    def is_available():
        return "FAKE_GPU" in os.environ

    class Event:
        """Whatever happened between two of them took 2 ms by the GPU's clock."""

        def __init__(self, enable_timing):
            self.enable_timing = enable_timing

        def record(self):
            pass

        def synchronize(self):
            pass

        def elapsed_time(self, end):
            return 2.0


inference_mode = contextlib.nullcontext
