"""The named commands of the image that tests use."""

import datetime
import math
import time

from agent_sandbox.server import command


@command(description="Says hello")
def greet(name: str = "world"):
    return {"message": f"Hello, {name}!"}


@command()
def add(a: int, b: int = 2):
    return a + b


@command()
def tags(xs: list[str] = ["a", "b"]):
    return xs


@command()
def boom(msg: str = "x"):
    raise KeyError(msg)


@command()
def slow(seconds: float = 1.0):
    time.sleep(seconds)
    return "slept"


@command()
def nonjson():
    return {"when": datetime.date(2026, 1, 2), "nan": math.nan, "text": "NaN, Infinity"}


@command(name="odd name")
def odd():
    return "odd-ok"


@command(hidden=True)
def secret_cmd():
    return "hidden-ok"
