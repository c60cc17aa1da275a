import contextlib
import types

import fake

__version__ = fake.VERSION


class Mat:
    def __init__(self, data, batch_index):
        assert batch_index == 0
        self.data = data

    def clone(self):
        return self

    def numpy(self, batch_index):
        assert batch_index == 0
        return self.data


class Net:
    def __init__(self):
        self.opt = types.SimpleNamespace()

    def load_param(self, path):
        assert self.opt.num_threads > 0 and not self.opt.use_fp16_storage
        self.session = fake.open_session(path)
        return 0

    def load_model(self, path):
        return 0

    def create_extractor(self):
        return contextlib.nullcontext(Extractor(self.session))


class Extractor:
    def __init__(self, session):
        self.session, self.feeds, self.results = session, {}, None

    def input(self, name, value):
        self.feeds[self.session.get_inputs()[int(name[2:])].name] = value.data

    def extract(self, name):
        self.results = self.results or fake.run(self.session, self.feeds)
        return 0, Mat(self.results[int(name[3:])], 0)
