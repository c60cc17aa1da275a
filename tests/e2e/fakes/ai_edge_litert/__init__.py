import fake

__version__ = fake.VERSION
