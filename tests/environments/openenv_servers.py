"""Environments of OpenEnv and their servers, in threads of this process."""

import random
import re
import threading
import time
from contextlib import contextmanager

import uvicorn
from fastmcp import FastMCP
from openenv.core.env_server import (
    Action, CallToolAction, CallToolObservation, Environment, MCPEnvironment, Observation, State, create_app)

SESSIONS = 8
TURNS = 3


class Guess(Action):
    text: str


class Hint(Observation):
    message: str


class GuessEnvironment(Environment):
    """A digit to guess, in at most three turns; a guess is the first digit of a text.

    The nearer a guess, the larger the reward of its step; a right one also has those of the turns that are left.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True

    def reset(self, seed=None, episode_id=None, **kwargs):
        self.number, self.steps, self.episode = random.Random(seed).randrange(10), 0, episode_id
        return Hint(message="Guess.")

    def step(self, action, timeout_s=None, **kwargs):
        self.steps += 1
        digit = re.search("[0-9]", action.text)
        if digit is None:
            return Hint(message="No digit.", reward=0.0, done=self.steps == TURNS)
        distance = abs(int(digit[0]) - self.number)
        if distance == 0:
            return Hint(message="Right.", reward=(TURNS + 1 - self.steps) / TURNS, done=True)
        message = "Higher." if int(digit[0]) < self.number else "Lower."
        return Hint(message=message, reward=(1 - distance / 9) / TURNS, done=self.steps == TURNS)

    @property
    def state(self):
        return State(episode_id=self.episode, step_count=self.steps)


class Move(Action):
    left: int
    right: int


class Board(Observation):
    total: int
    question: str


class SumEnvironment(Environment):
    """Adds two numbers until they are ten together. It tells the question that it was given."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def reset(self, seed=None, episode_id=None, question=None, **kwargs):
        self.question = question["problem"]
        return Board(total=0, question=self.question)

    def step(self, action, timeout_s=None, **kwargs):
        total = action.left + action.right
        return Board(total=total, question=self.question, reward=0.25, done=total == 10)

    @property
    def state(self):
        return State()


class ToolEnvironment(MCPEnvironment):
    """A tool that doubles; ended and rewarded by eight."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self):
        server = FastMCP("doubling")
        self.last = 0

        @server.tool
        def double(number: int) -> int:
            """Doubles a number."""
            self.last = 2 * number
            return self.last

        super().__init__(server)

    def reset(self, seed=None, episode_id=None, **kwargs):
        return Hint(message="Make eight.")

    def step(self, action, timeout_s=None, **kwargs):
        return self.rewarded(super().step(action, timeout_s=timeout_s, **kwargs))

    async def step_async(self, action, timeout_s=None, **kwargs):
        return self.rewarded(await super().step_async(action, timeout_s=timeout_s, **kwargs))

    def rewarded(self, observation):
        if isinstance(observation, CallToolObservation):
            observation.done, observation.reward = self.last == 8, float(self.last == 8)
        return observation

    def _step_impl(self, action, timeout_s=None, **kwargs):
        raise ValueError("expected the call of a tool")

    @property
    def state(self):
        return State()


KINDS = {
    "guess": (GuessEnvironment, Guess, Hint),
    "sum": (SumEnvironment, Move, Board),
    "tool": (ToolEnvironment, CallToolAction, CallToolObservation),
}


@contextmanager
def serving(kind):
    """The address of an environment's server."""
    app = create_app(*KINDS[kind], env_name=kind, max_concurrent_envs=SESSIONS)
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="critical"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        if not thread.is_alive():
            raise RuntimeError("the server has ended")
        time.sleep(0.01)
    try:
        yield "http://127.0.0.1:%d" % server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()
