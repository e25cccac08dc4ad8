# The right answer, with the student's own tests of it.
# fails: nothing
# says:
# ruff: noqa

import doctest
import unittest

assert doctest.testmod().failed == 0


class TestMine(unittest.TestCase):
    def test_one_client(self):
        self.assertEqual(fedavg([{"w": 2.0}], [1.0]), {"w": 2.0})


def test_one_client():
    assert fedavg([{"w": 2.0}], [1.0]) == {"w": 2.0}


unittest.TextTestRunner().run(unittest.defaultTestLoader.loadTestsFromTestCase(TestMine))
