"""A Yahoo that lies: answers in which anything may stand, and ways to send them that no server should have."""

from __future__ import annotations

import copy
import gzip
import json
import math
from typing import Any

import numpy as np

from tests.datafeeds.yahoo.server import HTML, Fault

JUNK: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 10**15, 10**30, -(10**30), 1e308, -1e308, 5e-324, 0.0, -0.5, "", "x", "NaN", "2020-01-01"),
    *([], {}, [None], [1, 2], ["x"], {"x": 1}, [[1]], "[/bold]", "\x1b[2J", "\u202e", "a" * 20_000, math.nan, math.inf),
)
CURRENCIES = ("USD", "GBp", "JPY", "", None, "usd", 5, [], "[/]", "ZAc", "EUR")
SPLITS = ((0, 1), (1, 0), (-4, 1), (10**12, 1), (1, 10**12), (None, 1), ("4", "1"), (math.nan, 1), (4, 1))


def _places(thing: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where something stands in an answer; of long lists a few places."""
    here = [path] if path else []
    if isinstance(thing, dict):
        return here + [place for key, value in thing.items() for place in _places(value, (*path, key))]
    if isinstance(thing, list):
        some = range(len(thing)) if len(thing) < 5 else (0, len(thing) // 2, len(thing) - 1)
        return here + [place for i in some for place in _places(thing[i], (*path, i))]
    return here


def _at(thing: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        thing = thing[key]
    return thing


def lied(answer: dict[str, Any], rng: np.random.Generator) -> tuple[str, dict[str, Any]]:
    """The answer with something in it that is not so, and what kind of lie it is."""
    answer = copy.deepcopy(answer)
    result = answer["chart"]["result"][0]
    quote = result.get("indicators", {}).get("quote", [{}])[0]
    how = str(rng.choice(["a value", "left out", "prices", "times", "lengths", "events", "currency", "twice"]))
    n = len(result.get("timestamp", []))
    if how in ("a value", "left out"):
        places = _places(answer)
        path = places[int(rng.integers(len(places)))]
        if how == "a value":
            _at(answer, path[:-1])[path[-1]] = copy.deepcopy(JUNK[int(rng.integers(len(JUNK)))])
        else:
            del _at(answer, path[:-1])[path[-1]]
    elif how == "prices" and n:
        column = quote[str(rng.choice(["open", "high", "low", "close", "volume"]))]
        for i in rng.integers(0, n, int(rng.choice([1, 3, n]))).tolist():
            column[i] = copy.deepcopy(JUNK[int(rng.integers(len(JUNK)))])
    elif how == "times" and n:
        times = result["timestamp"]
        i = int(rng.integers(n))
        changes = (
            times[::-1],
            [*times[:i], times[0], *times[i + 1 :]],
            [*times[:i], 10**14, *times[i + 1 :]],
            [t * 1000 for t in times],
        )
        result["timestamp"] = changes[int(rng.integers(len(changes)))]
    elif how == "lengths" and n:
        name = str(rng.choice(["open", "close", "volume", "timestamp"]))
        owner = result if name == "timestamp" else quote
        owner[name] = owner[name][:-1] if rng.random() < 0.5 else [*owner[name], *owner[name][:3]]
    elif how == "events" and n:
        when = result["timestamp"][int(rng.integers(n))]
        new, old = SPLITS[int(rng.integers(len(SPLITS)))]
        ratio = f"{new}:{old}"
        result["events"] = {
            "splits": {str(when): {"date": when, "numerator": new, "denominator": old, "splitRatio": ratio}},
            "dividends": {str(when): {"date": when, "amount": JUNK[int(rng.integers(18))]}},
        }
    elif how == "currency":
        result["meta"]["currency"] = CURRENCIES[int(rng.integers(len(CURRENCIES)))]
    elif how == "twice":
        answer["chart"]["result"] = answer["chart"]["result"] * 2
    return how, answer


def fault(answer: dict[str, Any], rng: np.random.Generator) -> tuple[str, Fault]:
    """What is sent in the place of an answer, and its kind."""
    if rng.random() < 0.7:
        kind, lie = lied(answer, rng)
        return kind, Fault(body=json.dumps(lie).encode())
    body = json.dumps(answer).encode()
    at = int(rng.integers(len(body)))
    faults = {
        "no JSON": Fault(body=body[:at] + b"\xff\x00" + body[at:]),
        "half of it": Fault(body=body[:at]),
        "cut off": Fault(cut=float(rng.random())),
        "dropped": Fault(drop=True),
        "HTML": Fault(body=HTML),
        "another status": Fault(int(rng.choice([204, 302, 400, 401, 403, 404, 418, 429, 500, 503])), body),
        "wait for ever": Fault(429, b"", {"Retry-After": str(rng.choice(["1e9", "-5", "soon", "Mon, 99 Foo", "999999999999"]))}),
        "a redirect to itself": Fault(
            302, b"", {"Location": str(rng.choice(["/v8/finance/chart/A", "file:///etc/passwd", "x:"]))}
        ),
        "packed, it says": Fault(body=body, headers={"Content-Encoding": "gzip"}),
        "packed and damaged": Fault(body=gzip.compress(body)[:-9], headers={"Content-Encoding": "gzip"}),
        "nested deep": Fault(body=b"[" * 100_000),
        "another thing": Fault(body=json.dumps(JUNK[int(rng.integers(28))]).encode()),
    }
    kind = sorted(faults)[int(rng.integers(len(faults)))]
    return kind, faults[kind]
