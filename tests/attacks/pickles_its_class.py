# The right answer, after pickling an object of a class of its own.
# fails: nothing
# says:
# ruff: noqa

import pickle


class Client:
    pass


assert type(pickle.loads(pickle.dumps(Client()))) is Client
