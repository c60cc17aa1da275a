import fake

from MNN import expr, nn  # noqa: F401


def version():
    return fake.VERSION
