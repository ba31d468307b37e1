"""Cost of the gateway: the same conversations with it and without, side by side in one run.

    python -m benchmarks.serving LOCOMO [--concurrency 1,4,8] [--history 2000] [--requests 24]

An arm is what the upstream is sent: the `session` so far; `gateway`, the session by way of the gateway; and
`same`, the very prompts that the gateway made of it, straight to the upstream. The upstream is a model server
on the loopback whose prefill and tokens take a set time. A request's time outside of the upstream is known
exactly, since all processes share one clock: *added* is that of the gateway less the median of `same`, and
*of same* is its throughput as a part of theirs. Arms take turns, a session each. In the end the log is read:
is every turn that was acknowledged in it, once?

    python -m benchmarks.serving LOCOMO --views chunks --full

recalls from these views alone, which the server maintains, and adds the arm `full`: the whole history in each
prompt. `s_per_token` beside `requests_per_s` is Akashic's Figure 9, with concurrency for the offered rate.

    python -m benchmarks.serving LOCOMO --prefixes

has one user talk for twenty turns in each of the gateway's modes, and without it: how much of what the
upstream is sent stands at the beginning of the request before, byte for byte, and is in a prefix cache?
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median, quantiles
from typing import Any
from urllib.request import urlopen

import httpx2
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Route

from benchmarks import results
from benchmarks.data import Conversation, load
from benchmarks.speed import repeated
from zibaldone import Config, Filter, Memory, Message
from zibaldone.api.config import MAINTAINED
from zibaldone.core import MACHINES

ARMS = ("session", "gateway", "same")
MODEL = "loopback"
_PATH = "/v1/chat/completions"
_SYSTEM = "You are a helpful assistant who answers in plain words. Say so when you do not know something."
_CHARACTERS = 4  # of a token
_TURNS = 6  # exchanges of a session
_ANSWER_TOKENS = 64
_STARTS_S, _STOPS_S, _TIMEOUT_S, _WARM_S = 60.0, 30.0, 120.0, 60.0
_SERVE = (  # `zibaldone serve` has no option for the time that a recall may take
    "from functools import partial; import zibaldone.server.settings as settings;"
    " settings.ServerSettings = partial(settings.ServerSettings, recall_timeout_ms={});"
    " from zibaldone.cli.app import app; app()"
)


def upstream(prefill_tokens_per_s: float, tokens_per_s: float) -> Starlette:
    """A model server: prompts are computed one after the other, streams side by side.

    It answers with the request's `prediction`, and tells at /records what it was asked since the last look.
    """
    computing, records = asyncio.Lock(), dict[str, dict[str, Any]]()

    async def complete(request: Request) -> StreamingResponse:
        asked = json.loads(await request.body())
        record = {"received": time.monotonic(), "messages": asked["messages"]}
        name = asked["metadata"]["request"]
        before = records.get(name)
        records[name] = record
        whole = "".join(json.dumps(part) for part in (asked.get("tools"), *asked["messages"]))
        record["prompts"] = [*(before["prompts"] if before else ()), whole]
        if asked["metadata"].get("searches") and asked.get("tools") and before is None:
            query = str(asked["messages"][-1]["content"]).rpartition("\n\n")[2]
            return StreamingResponse(iter([_searching(name, query)]), media_type="text/event-stream")
        prompt = sum(len(str(message["content"])) for message in asked["messages"]) // _CHARACTERS
        record["prompt_tokens"] = prompt
        async with computing:
            await asyncio.sleep(prompt / prefill_tokens_per_s)
        return StreamingResponse(
            stream(asked["prediction"]["content"], record), media_type="text/event-stream"
        )

    async def stream(answer: str, record: dict[str, Any]) -> AsyncIterator[bytes]:
        began = time.monotonic()
        for number, start in enumerate(range(0, len(answer), _CHARACTERS), 1):
            await asyncio.sleep(max(0.0, began + number / tokens_per_s - time.monotonic()))
            record.setdefault("first", time.monotonic())
            yield _event({"content": answer[start : start + _CHARACTERS]})
        yield _event({}, "stop") + b"data: [DONE]\n\n"

    async def told(_: Request) -> JSONResponse:
        answer = JSONResponse(records)
        records.clear()
        return answer

    async def models(_: Request) -> JSONResponse:
        return JSONResponse({"object": "list", "data": [{"id": MODEL, "object": "model"}]})

    routes = [Route(_PATH, complete, methods=["POST"]), Route("/records", told), Route("/v1/models", models)]
    return Starlette(routes=routes)


def _searching(call: str, query: str) -> bytes:
    function = {"name": "search_memory", "arguments": json.dumps({"query": query})}
    calls = [{"index": 0, "id": call, "type": "function", "function": function}]
    return _event({"tool_calls": calls}) + _event({}, "tool_calls") + b"data: [DONE]\n\n"


def _event(delta: Mapping[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    chunk = {"id": "chatcmpl-loopback", "object": "chat.completion.chunk", "created": 1, "model": MODEL}
    return b"data: " + json.dumps(chunk | {"choices": [choice]}).encode() + b"\n\n"


@contextmanager
def server(command: Sequence[str], ready: str) -> Iterator[None]:
    """A server in a process of its own, from when this address answers."""
    process = subprocess.Popen(  # noqa: S603 - our own
        [sys.executable, *command], cwd=results.ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        until = time.monotonic() + _STARTS_S
        while not _answers(ready):
            if time.monotonic() > until or process.poll() is not None:
                raise RuntimeError(f"{ready} does not answer")
            time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.wait(_STOPS_S)


def _answers(address: str) -> bool:
    try:
        with urlopen(address, timeout=1):  # noqa: S310 - the loopback
            return True
    except OSError:
        return False


def free_port() -> int:
    """A port of the loopback that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass(frozen=True, slots=True)
class ServedUser:
    """One user: what was said before, and exchanges without end."""

    name: str
    history: tuple[Message, ...]
    exchanges: Iterator[tuple[str, str]]


def users_of(conversations: Sequence[Conversation], count: int, history: int) -> list[ServedUser]:
    """So many, each with a conversation of the data again and again."""
    users = []
    for number in range(count):
        talk = conversations[number % len(conversations)].messages
        stream = repeated([message for message in talk if message.time])
        earlier = tuple(itertools.islice(stream, history))
        users.append(ServedUser(f"user-{number}", earlier, _exchanges(stream)))
    return users


def _exchanges(messages: Iterator[Message]) -> Iterator[tuple[str, str]]:
    """Among people the first who speaks in a session is the user, and the others answer."""
    for _, group in itertools.groupby(messages, lambda message: message.session):
        session = list(group)
        first, question = session[0].speaker, ""
        sides = [(m.role not in MACHINES and m.speaker == first, m.content) for m in session]
        for is_user, run in itertools.groupby(sides, lambda side: side[0]):
            text = "\n\n".join(content for _, content in run)
            if is_user:
                question = text
            elif question:
                yield question, text[: _ANSWER_TOKENS * _CHARACTERS].rstrip()
                question = ""


@dataclass(frozen=True, slots=True)
class Sample:
    """One request as its client saw it; moments in seconds of the monotonic clock."""

    request: str
    user: str
    session: str
    question: str
    answer: str
    sent: float
    first: float
    memory: str | None  # what the gateway says of its memory
    memory_ms: float | None
    fault: str | None
    ended: float = 0.0


async def send(
    client: httpx2.AsyncClient,
    port: int,
    messages: Sequence[Mapping[str, str]],
    answer: str,
    request: str,
    scope: tuple[str, str],
    *,
    mode: str = "context",
    searches: bool = False,
    views: Sequence[str] = (),
) -> Sample:
    """One request, to its end; whatever goes wrong is the sample's fault."""
    user, session = scope
    body = {
        "model": MODEL,
        "messages": messages,
        "stream": True,
        "prediction": {"type": "content", "content": answer},
        "metadata": {"request": request, "searches": searches},
    }
    if views:
        body["memory"] = {"views": list(views)}
    headers = {"X-Memory-User": user, "X-Memory-Session": session, "X-Memory-Mode": mode}
    sent, first, text, fault = time.monotonic(), 0.0, "", None
    memory: dict[str, Any] = {}
    try:
        url = f"http://127.0.0.1:{port}{_PATH}"
        async with client.stream("POST", url, json=body, headers=headers) as response:
            memory["status"] = (response.headers.get("x-memory-status") or "").partition(";")[
                0
            ].strip() or None
            async for line in response.aiter_lines():
                if not line.startswith("data: {"):
                    continue
                value = json.loads(line.removeprefix("data: "))
                memory |= value.get("memory") or {}
                for choice in value.get("choices", []):
                    if piece := choice["delta"].get("content"):
                        first = first or time.monotonic()
                        text += piece
        if text != answer:
            fault = f"status {response.status_code}, another answer came: {text[:80]!r}"
    except (httpx2.HTTPError, ValueError) as error:
        fault = repr(error)
    question = str(messages[-1]["content"])
    told = memory.get("status"), memory.get("ms"), fault, time.monotonic()
    return Sample(request, user, session, question, text, sent, first, *told)


async def talk(
    user: ServedUser,
    arm: str,
    port: int,
    phase: str,
    exchanges: Sequence[tuple[str, str]],
    views: Sequence[str] = (),
    turns: int = _TURNS,
    **asked: Any,
) -> list[Sample]:
    """One user's exchanges, one after the other, in sessions of so many; `asked` goes to `send`."""
    samples: list[Sample] = []
    said: list[dict[str, str]] = []
    opening = [{"role": "system", "content": _SYSTEM}]
    if arm == "full":
        opening += [{"role": "user", "content": f"{m.speaker}: {m.content}"} for m in user.history]
    async with httpx2.AsyncClient(timeout=_TIMEOUT_S) as client:
        for number, (question, answer) in enumerate(exchanges):
            said = said if number % turns else list(opening)
            said.append({"role": "user", "content": question})
            name, scope = f"{arm}/{phase}/{user.name}/{number}", (user.name, f"{phase}/{number // turns}")
            wanted = views if arm == "gateway" else ()
            sample = await send(client, port, said, answer, name, scope, views=wanted, **asked)
            samples.append(sample)
            said.append({"role": "assistant", "content": sample.answer})
    return samples


async def again(records: Mapping[str, Any], samples: Sequence[Sample], port: int) -> list[Sample]:
    """The prompts that the gateway made of these requests, straight to the upstream."""
    done = []
    async with httpx2.AsyncClient(timeout=_TIMEOUT_S) as client:
        for sample in samples:
            if sample.fault is None:
                messages = records[sample.request]["messages"]
                name, scope = sample.request.replace("gateway", "same", 1), (sample.user, sample.session)
                done.append(await send(client, port, messages, sample.answer, name, scope))
    return done


@dataclass(frozen=True, slots=True)
class ServingRow:
    """One arm at one concurrency. Times in ms, without failures."""

    arm: str
    concurrency: int
    requests: int
    failures: int
    degraded: int  # of the gateway's: memory was not there
    first_token_p50_ms: float
    first_token_p95_ms: float
    outside_p50_ms: float  # of the time to the first token, what was not the upstream's
    added_p50_ms: float | None  # None: not the gateway's
    added_p95_ms: float | None
    memory_p50_ms: float | None  # by which memory held requests up, as the gateway says it
    upstream_p50_ms: float
    prompt_tokens: float
    requests_per_s: float  # of all users together
    of_same: float | None  # this rate as a part of that of `same`
    s_per_token: float  # of an answer, from the request on


def row(
    arm: str,
    concurrency: int,
    samples: Sequence[Sample],
    records: Mapping[str, Any],
    same: ServingRow | None = None,
) -> ServingRow:
    """`same`: for the gateway's, the row of its prompts straight to the upstream."""
    well = [sample for sample in samples if sample.fault is None and sample.first]
    served = [records[sample.request] for sample in well]
    outside = [
        1000 * (record["received"] - sample.sent + sample.first - record["first"])
        for sample, record in zip(well, served, strict=True)
    ]
    firsts = [1000 * (sample.first - sample.sent) for sample in well]
    memory = [sample.memory_ms for sample in well if sample.memory_ms is not None]
    rate = concurrency / fmean(sample.ended - sample.sent for sample in well)
    return ServingRow(
        arm=arm,
        concurrency=concurrency,
        requests=len(samples),
        failures=len(samples) - len(well),
        degraded=sum(sample.memory != "ok" for sample in samples) if arm == "gateway" else 0,
        first_token_p50_ms=median(firsts),
        first_token_p95_ms=_p95(firsts),
        outside_p50_ms=median(outside),
        added_p50_ms=None if same is None else median(outside) - same.outside_p50_ms,
        added_p95_ms=None if same is None else _p95(outside) - same.outside_p50_ms,
        memory_p50_ms=median(memory) if memory else None,
        upstream_p50_ms=median(1000 * (record["first"] - record["received"]) for record in served),
        prompt_tokens=fmean(record["prompt_tokens"] for record in served),
        requests_per_s=rate,
        of_same=None if same is None else rate / same.requests_per_s,
        s_per_token=fmean((s.ended - s.sent) / max(1, len(s.answer) // _CHARACTERS) for s in well),
    )


def told(upstream_port: int) -> dict[str, Any]:
    """What the upstream was asked since the last look, by request."""
    with urlopen(f"http://127.0.0.1:{upstream_port}/records") as answer:
        records: dict[str, Any] = json.load(answer)
    return records


def _p95(values: Sequence[float]) -> float:
    return quantiles(values, n=20)[-1] if len(values) > 1 else values[0]


def measure(
    users: Sequence[ServedUser],
    concurrency: Sequence[int],
    requests: int,
    upstream_port: int,
    port: int,
    views: Sequence[str] = (),
    *,
    full: bool = False,
) -> tuple[list[ServingRow], list[Sample]]:
    """All arms at every concurrency; and all that went through the gateway."""

    async def side_by_side(
        arm: str, at: int, phase: str, texts: Sequence[list[tuple[str, str]]]
    ) -> list[Sample]:
        to = port if arm == "gateway" else upstream_port
        talks = (talk(user, arm, to, phase, own, views) for user, own in zip(users[:at], texts, strict=True))
        return [sample for ours in await asyncio.gather(*talks) for sample in ours]

    async def all_again(samples: Sequence[Sample], made: Mapping[str, Any]) -> list[Sample]:
        by_user = [[sample for sample in samples if sample.user == user.name] for user in users]
        replays = (again(made, own, upstream_port) for own in by_user)
        return [sample for ours in await asyncio.gather(*replays) for sample in ours]

    rows: list[ServingRow] = []
    remembered: list[Sample] = []
    for user in users:  # the first requests of a user read its memory in
        until, status = time.monotonic() + _WARM_S, None
        while status != "ok" and time.monotonic() < until:
            (sample,) = asyncio.run(talk(user, "gateway", port, "first", [next(user.exchanges)], views))
            remembered.append(sample)
            status = sample.memory
    told(upstream_port)
    for at in concurrency:
        sessions = -(-max(-(-requests // at), 4) // _TURNS)
        samples: dict[str, list[Sample]] = {arm: [] for arm in (*ARMS, *(["full"] if full else []))}
        upstreams: dict[str, dict[str, Any]] = {arm: {} for arm in samples}
        for number in range(sessions):
            texts = [list(itertools.islice(user.exchanges, _TURNS)) for user in users[:at]]
            for arm in samples:
                if arm == "same":
                    done = asyncio.run(all_again(samples["gateway"][-at * _TURNS :], upstreams["gateway"]))
                else:
                    done = asyncio.run(side_by_side(arm, at, f"{at}-{number}", texts))
                samples[arm] += done
                upstreams[arm] |= told(upstream_port)
        remembered += samples["gateway"]
        made = {arm: row(arm, at, samples[arm], upstreams[arm]) for arm in samples}
        through = row("gateway", at, samples["gateway"], upstreams["gateway"], made["same"])
        rows += (made | {"gateway": through}).values()
    return rows, remembered


_PREFIX_TURNS = 20
_PREFIX_ARMS = (  # what is asked, the mode, and whether the model searches at each turn
    ("none", "context", False),
    ("context", "context", False),
    ("tool", "tool", False),
    ("tool, searched each turn", "tool", True),
    ("both", "both", False),
    ("both, searched each turn", "both", True),
)


@dataclass(frozen=True, slots=True)
class PrefixRow:
    """One arm. Tokens of four characters, without those of the first turn, which nobody can have cached."""

    memory: str
    requests: int
    prompt_tokens: int
    cached: float  # the share of them that stood at the beginning of the request before
    computed_tokens_per_turn: int  # all others


def prefix_row(arm: str, prompts: Sequence[Sequence[str]]) -> PrefixRow:
    """`prompts` are those of each turn."""
    sent = [prompt for turn in prompts for prompt in turn]
    pairs = list(itertools.pairwise(sent))[len(prompts[0]) - 1 :]
    cached = sum(_shared(*pair) for pair in pairs)
    total = sum(len(prompt) for _, prompt in pairs)
    computed = (total - cached) // _CHARACTERS // (len(prompts) - 1)
    return PrefixRow(arm, len(pairs), total // _CHARACTERS, round(cached / total, 3), computed)


def _shared(before: str, after: str) -> int:
    """How many characters two prompts have in common from the first on."""
    both = zip(before, after, strict=False)
    return next(
        (place for place, (one, other) in enumerate(both) if one != other), min(len(before), len(after))
    )


def prefixes(user: ServedUser, upstream_port: int, port: int) -> list[PrefixRow]:
    """Twenty turns of one conversation in each arm, the same ones."""
    exchanges = list(itertools.islice(user.exchanges, _PREFIX_TURNS))

    rows = []
    for arm, mode, searches in _PREFIX_ARMS:
        to = upstream_port if arm == "none" else port
        talked = talk(user, "prefixes", to, arm, exchanges, turns=_PREFIX_TURNS, mode=mode, searches=searches)
        samples = asyncio.run(talked)
        if faults := [sample.fault for sample in samples if sample.fault]:
            raise RuntimeError(faults[0])
        made = told(upstream_port)
        rows.append(prefix_row(arm, [made[sample.request]["prompts"] for sample in samples]))
    return rows


def audit(folder: Path, samples: Sequence[Sample]) -> dict[str, int]:
    """Turns of requests that ended well, counted in the log: how many are lost, how many doubled."""
    wanted: dict[tuple[str, str], Counter[str]] = {}
    for sample in samples:
        if sample.fault is None and sample.memory == "ok":
            wanted.setdefault((sample.user, sample.session), Counter()).update(
                (sample.question, sample.answer)
            )
    lost = doubled = 0
    with Memory(folder) as memory:
        for (user, session), turns in wanted.items():
            stored = Counter(
                message.content for message in memory.messages(user=user, filter=Filter(session=session))
            )
            lost += (turns - stored).total()
            doubled += sum(stored[text] - count for text, count in turns.items() if stored[text] > count)
    return {"acknowledged": sum(turns.total() for turns in wanted.values()), "lost": lost, "doubled": doubled}


def main() -> None:
    """Import, serve, load, count."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.serving", description=__doc__)
    parser.add_argument("path", type=Path, help="a LoCoMo file")
    parser.add_argument("--concurrency", default="1,4,8")
    parser.add_argument("--requests", type=int, default=24, help="of an arm at a concurrency")
    parser.add_argument("--history", type=int, default=2000, help="messages of each user, imported first")
    parser.add_argument("--prefill", type=float, default=20_000.0, help="tokens in a second")
    parser.add_argument("--rate", type=float, default=60.0, help="tokens of a stream in a second")
    parser.add_argument("--timeout", type=int, default=300, help="ms that a recall may take")
    parser.add_argument("--views", help="recall from these alone, with commas; else from the usual ones")
    parser.add_argument("--full", action="store_true", help="beside it, the whole history in every prompt")
    parser.add_argument(
        "--prefixes", action="store_true", help="how much of prompts a cache has, and no times"
    )
    parser.add_argument("--output", type=Path, help="benchmarks/results/serving.json, or prefixes.json")
    given = parser.parse_args()
    concurrency = [int(part) for part in given.concurrency.split(",")]
    users = users_of(load("locomo", given.path), max(concurrency), given.history)
    views = given.views.split(",") if given.views else []
    load_before = os.getloadavg()[0]

    def write(name: str, title: str, rows: Sequence[object], **more: object) -> None:
        results.show(name, rows, ", ".join(f"{what}: {told}" for what, told in more.items()))
        figures = {"title": title, "data": given.path.name, "rows": rows, **more}
        results.write(given.output or results.RESULTS / f"{name}.json", figures)

    with tempfile.TemporaryDirectory(prefix="zibaldone-bench-") as folder:
        imported(folder, users, views)
        with serving(folder, given, views) as ports:
            if given.prefixes:
                write("prefixes", "Prefix caches", prefixes(users[0], *ports))
                return
            rows, remembered = measure(users, concurrency, given.requests, *ports, views, full=given.full)
        counted = audit(Path(folder), remembered)
    loads = {"before": load_before, "after": os.getloadavg()[0]}
    write("serving", "Serving", rows, log=counted, load=loads)


def imported(folder: str, users: Sequence[ServedUser], views: Sequence[str]) -> None:
    """Make a memory of the users' histories."""
    with Memory(folder, config=Config(maintained=views or MAINTAINED)) as memory:
        for user in users:
            print(f"importing {user.name}", file=sys.stderr)
            memory.add(user.history, user=user.name)
            memory.maintain(user=user.name)


@contextmanager
def serving(folder: str, given: argparse.Namespace, views: Sequence[str]) -> Iterator[tuple[int, int]]:
    """An upstream of the given speed and a gateway before it; gives the ports of both."""
    ports = free_port(), free_port()
    url, gateway = (f"http://127.0.0.1:{port}" for port in ports)
    serve = ["-c", _SERVE.format(given.timeout), "serve", "--memory", folder]
    serve += ["--upstream", f"{url}/v1", "--port", str(ports[1])]
    serve += [word for view in views for word in ("--view", view)]
    rates = [str(ports[0]), str(given.prefill), str(given.rate)]
    with (
        server(["-m", "benchmarks.serving", "--upstream", *rates], f"{url}/v1/models"),
        server(serve, f"{gateway}/healthz"),
    ):
        yield ports


if __name__ == "__main__":
    if sys.argv[1:2] == ["--upstream"]:
        import uvicorn

        number, prefill, rate = sys.argv[2:]
        uvicorn.run(upstream(float(prefill), float(rate)), port=int(number), log_level="warning")
    else:
        main()
