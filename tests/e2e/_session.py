"""The C interface's sessions (include/pet/pet.h) by ctypes, for tests: the library of the build, without a wheel."""

import ctypes
import os
import pathlib

import numpy as np

SOURCE = pathlib.Path(os.environ.get("PET_SOURCE", pathlib.Path(__file__).parents[2]))
LIBRARY = pathlib.Path(os.environ.get("PET_BIN", SOURCE / "build" / "bin")).parent / "lib" / "libpet.so"
DTYPES = {1: np.float32, 2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16, 6: np.int32, 7: np.int64, 9: np.bool_, 10: np.float16, 11: np.float64,
          12: np.uint32, 13: np.uint64}
NUMBERS = {np.dtype(dtype): number for number, dtype in DTYPES.items()}


class Failed(Exception):
    """(status, message)"""


class Tensor(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("type", ctypes.c_int), ("extents", ctypes.POINTER(ctypes.c_int64)), ("rank", ctypes.c_size_t),
                ("data", ctypes.c_void_p), ("size", ctypes.c_size_t)]

    @staticmethod
    def of(name, array):
        extents = (ctypes.c_int64 * array.ndim)(*array.shape)
        return Tensor(name.encode(), NUMBERS[array.dtype], extents, array.ndim, array.ctypes.data, array.nbytes)

    def array(self):
        shape = self.extents[:self.rank]
        return np.frombuffer(ctypes.string_at(self.data, self.size), DTYPES[self.type]).reshape(shape)


def library():
    lib = ctypes.CDLL(str(LIBRARY))
    for name in ["pet_session_message", "pet_values_message"]:
        getattr(lib, name).restype = ctypes.c_char_p
        getattr(lib, name).argtypes = [ctypes.c_void_p]
    for name in ["pet_session_output_count", "pet_values_count"]:
        getattr(lib, name).restype = ctypes.c_size_t
        getattr(lib, name).argtypes = [ctypes.c_void_p]
    for name in ["pet_session_output", "pet_values_at"]:
        getattr(lib, name).restype = Tensor
        getattr(lib, name).argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    for name in ["pet_session_free", "pet_values_free"]:
        getattr(lib, name).argtypes = [ctypes.c_void_p]
        getattr(lib, name).restype = None
    lib.pet_session_open_bytes.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
    lib.pet_session_run.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
    return lib


class Session:
    """A model's bytes, opened. Raises Failed."""

    def __init__(self, lib, model):
        self.lib, self.handle = lib, ctypes.c_void_p()
        status = lib.pet_session_open_bytes(model, len(model), None, 0, ctypes.byref(self.handle))
        if status:
            message = lib.pet_session_message(self.handle).decode()
            lib.pet_session_free(self.handle)
            self.handle = None
            raise Failed(status, message)

    def __del__(self):
        if self.handle:
            self.lib.pet_session_free(self.handle)

    def run(self, feeds):
        arrays = {name: np.require(array, requirements="C") for name, array in feeds.items()}
        tensors = (Tensor * len(arrays))(*[Tensor.of(name, array.reshape(np.shape(feeds[name]))) for name, array in arrays.items()])
        values = ctypes.c_void_p()
        status = self.lib.pet_session_run(self.handle, tensors, len(arrays), ctypes.byref(values))
        try:
            if status:
                raise Failed(status, self.lib.pet_values_message(values).decode())
            return [self.lib.pet_values_at(values, i).array() for i in range(self.lib.pet_values_count(values))]
        finally:
            self.lib.pet_values_free(values)
