"""Trains with an environment of PyPI verifiers; started by scripts/test-environments.sh."""

import sys
import unittest

from recorded_run import HERE, RecordedRun


class Digits(RecordedRun, unittest.TestCase):
    @classmethod
    def command(cls):
        return [sys.executable, HERE / "play_verifiers.py", "digits_v1", "digits_v1"]

    def test_every_rollout_has_two_turns(self):
        self.assertEqual({len(turns) for turns in self.turns().values()}, {2})


if __name__ == "__main__":
    unittest.main()
