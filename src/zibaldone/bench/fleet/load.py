"""What users do: add, recall, look, forget, over HTTP to any server; and what they check in each answer.

Every message has a code of its own, a word that says whose it is. So a client sees at once whether an answer
has another user's words, words that were forgotten, or misses what was acknowledged before it asked.
"""

from __future__ import annotations

import json
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from typing import Any

import numpy as np

from zibaldone.bench.fleet.members import FleetProcess

_BITS, _NUMBER_BITS = 40, 22  # of a code, and of them those of the message's number
_CODE = re.compile(r"\bqz([a-p]{10})\b")
_LETTERS = "abcdefghijklmnop"
_MASK = (1 << _BITS) - 1
_FACTOR = 0x9E3779B97F4A7C15 & _MASK | 1
_INVERSE = pow(_FACTOR, -1, 1 << _BITS)
_TIMEOUT_S = 60.0
_PAUSE_S = 0.25  # before a request is sent to another server
_PATIENCE_S = 150.0  # then a client gives a request up, and what it wrote is uncertain
_OPERATIONS = {"add": 0.55, "recall": 0.40, "list": 0.03, "forget": 0.02}


def code_of(user: int, number: int) -> str:
    """A word that only this message has; codes of neighbours are nothing alike."""
    mixed = _reversed((user << _NUMBER_BITS | number) * _FACTOR & _MASK) * _FACTOR & _MASK
    return "qz" + "".join(_LETTERS[mixed >> (4 * place) & 15] for place in range(_BITS // 4))


def codes_in(text: str) -> list[tuple[int, int]]:
    """(user, number) of each code."""
    codes = []
    for letters in _CODE.findall(text):
        mixed = sum(_LETTERS.index(letter) << (4 * place) for place, letter in enumerate(letters))
        whole = _reversed(mixed * _INVERSE & _MASK) * _INVERSE & _MASK
        codes.append((whole >> _NUMBER_BITS, whole & ((1 << _NUMBER_BITS) - 1)))
    return codes


def _reversed(number: int) -> int:
    return int(format(number, f"0{_BITS}b")[::-1], 2)


@dataclass(slots=True)
class FleetUser:
    """Who talks, and what the servers acknowledged."""

    number: int
    sent: int = 0  # messages, whether or not they came to be stored
    texts: dict[int, str] = field(default_factory=dict)  # of these, by their numbers
    acknowledged: dict[int, int] = field(default_factory=dict)  # by a message's number: its seq
    uncertain: set[int] = field(default_factory=set)  # sent, and given up without an answer
    forgotten: set[int] = field(default_factory=set)  # acknowledged to be gone
    going: set[int] = field(default_factory=set)  # being forgotten now, or given up
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def name(self) -> str:
        """As the memory knows it."""
        return f"user-{self.number}"

    def safe(self) -> list[int]:
        """Numbers of messages that must be there."""
        return [number for number in self.acknowledged if number not in self.going]


@dataclass(frozen=True, slots=True)
class FleetRequest:
    """One that was answered as it should be; time is from the first attempt to the last answer."""

    operation: str
    ms: float
    attempts: int


class RefusedRequest(Exception):
    """An answer that no further attempt would change."""


class FleetLoad:
    """Clients in threads, until they are stopped. What they saw is in the fields."""

    def __init__(
        self,
        users: Sequence[FleetUser],
        servers: Sequence[FleetProcess],
        texts: Sequence[str],
        *,
        clients: int,
        seed: int,
    ) -> None:
        """Who acts is chosen by a Zipf distribution over `users`: a few talk most."""
        self.requests: list[FleetRequest] = []
        self.failures: Counter[str] = Counter()  # of attempts, by what went wrong
        self.given_up = 0
        self.foreign = self.undead = self.unseen = 0  # codes: of others, of the forgotten; not recalled
        self.examples: list[str] = []  # of these, in words
        self._users, self._servers, self._texts = users, servers, texts
        weights = 1 / np.arange(1, len(users) + 1)
        self._weights = np.cumsum(weights / weights.sum())
        self._noting = threading.Lock()
        self._over = threading.Event()
        self._threads = [
            threading.Thread(target=self._act, args=(random.Random(seed * 1000 + number),), daemon=True)
            for number in range(clients)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """What is under way comes to its end."""
        self._over.set()
        for thread in self._threads:
            thread.join()

    def fill(self, user: FleetUser, messages: int) -> None:
        """A history from before."""
        chance = random.Random(user.number)
        with closing(_Client(self, chance)) as client:
            while user.sent < messages:
                self._add(client, user, min(200, messages - user.sent))

    def _act(self, chance: random.Random) -> None:
        names, weights = list(_OPERATIONS), list(_OPERATIONS.values())
        with closing(_Client(self, chance)) as client:
            while not self._over.is_set():
                user = self._users[int(np.searchsorted(self._weights, chance.random()))]
                operation = chance.choices(names, weights)[0]
                getattr(self, f"_{operation}")(client, user)

    def _add(self, client: _Client, user: FleetUser, count: int | None = None) -> None:
        amount = count or client.chance.randint(1, 2)
        with user.lock:
            numbers = range(user.sent, user.sent + amount)
            user.sent += amount
        messages = [
            {
                "id": code_of(user.number, number),
                "role": ("user", "assistant")[number % 2],
                "content": f"{client.chance.choice(self._texts)} The code is {code_of(user.number, number)}.",
            }
            for number in numbers
        ]
        with user.lock:
            user.texts.update(zip(numbers, (message["content"] for message in messages), strict=True))
        body = {"messages": messages, "session": f"s{numbers[0] // 20}"}
        answer = client.ask("add", "/v1/memory/messages", user, body)
        with user.lock:
            if answer is None:
                user.uncertain.update(numbers)
            else:
                seqs = [message["seq"] for message in answer["messages"]]
                user.acknowledged.update(zip(numbers, seqs, strict=True))

    def _recall(self, client: _Client, user: FleetUser) -> None:
        with user.lock:
            safe, gone = [number for number in user.safe() if number % 2 == 0], set(user.forgotten)
        if not safe:  # what the assistant says is recalled to those who ask for it
            return
        # The question is the message itself, so that no ranking is in doubt: is it there?
        wanted = safe[-1] if client.chance.random() < 0.5 else client.chance.choice(safe)
        body = {"query": user.texts[wanted], "floor": 0}
        answer = client.ask("recall", "/v1/memory/recall", user, body)
        if answer is None:
            return
        shown = self._check(user, answer["text"], gone)
        with user.lock:
            is_safe = wanted not in user.going
        if wanted not in shown and is_safe:
            self._note("unseen", f"{user.name} recalled without message {wanted}")

    def _list(self, client: _Client, user: FleetUser) -> None:
        with user.lock:
            gone = set(user.forgotten)
        answer = client.ask("list", "/v1/memory/messages?last=20", user)
        if answer is not None:
            self._check(user, " ".join(message["content"] for message in answer["messages"]), gone)

    def _forget(self, client: _Client, user: FleetUser) -> None:
        with user.lock:
            safe = user.safe()
            if len(safe) < 3:
                return
            number = client.chance.choice(safe)
            user.going.add(number)
        answer = client.ask("forget", "/v1/memory/forget", user, {"seqs": [user.acknowledged[number]]})
        if answer is not None:
            with user.lock:
                user.forgotten.add(number)

    def _check(self, user: FleetUser, text: str, gone: set[int]) -> set[int]:
        shown = codes_in(text)
        for whose, number in shown:
            if whose != user.number:
                self._note("foreign", f"{user.name} was shown message {number} of user-{whose}")
            elif number in gone:
                self._note("undead", f"{user.name} was shown message {number}, which was forgotten before")
        return {number for whose, number in shown if whose == user.number}

    def _note(self, what: str, words: str) -> None:
        with self._noting:
            setattr(self, what, getattr(self, what) + 1)
            self.examples.append(words)


class _Client:
    """A connection to some server, until that fails or its turn is over."""

    def __init__(self, load: FleetLoad, chance: random.Random) -> None:
        self.chance, self._load = chance, load
        self._connection: HTTPConnection | None = None

    def ask(
        self, operation: str, path: str, user: FleetUser, body: Mapping[str, Any] | None = None
    ) -> dict[str, Any] | None:
        """The answer, of whichever server gives one; None where none did for a long time."""
        began = time.perf_counter()
        attempts = 0
        joint = "&" if "?" in path else "?"
        while time.perf_counter() - began < _PATIENCE_S:
            attempts += 1
            try:
                answer = self._answer(f"{path}{joint}user={user.name}", body)
            except (OSError, HTTPException, ValueError) as error:
                self.close()
                self._failed(f"{operation}: {type(error).__name__}")
            except RefusedRequest as refused:
                self._failed(f"{operation}: {refused}")
            else:
                ms = 1000 * (time.perf_counter() - began)
                self._load.requests.append(FleetRequest(operation, ms, attempts))
                return answer
            time.sleep(_PAUSE_S * self.chance.uniform(0.5, 1.5))
        with self._load._noting:  # noqa: SLF001
            self._load.given_up += 1
        return None

    def _answer(self, path: str, body: Mapping[str, Any] | None) -> dict[str, Any]:
        if self._connection is None or self.chance.random() < 0.1:
            self.close()
            server = self.chance.choice(self._load._servers)  # noqa: SLF001
            self._connection = HTTPConnection("127.0.0.1", server.port, timeout=_TIMEOUT_S)
        given = None if body is None else json.dumps(body)
        headers = {} if given is None else {"Content-Type": "application/json"}
        self._connection.request("GET" if given is None else "POST", path, given, headers)
        response = self._connection.getresponse()
        read = response.read()
        if response.status >= 300:
            self.close()
            raise RefusedRequest(str(response.status))
        answer: dict[str, Any] = json.loads(read)
        return answer

    def _failed(self, what: str) -> None:
        with self._load._noting:  # noqa: SLF001
            self._load.failures[what] += 1

    def close(self) -> None:
        """The next request opens another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
