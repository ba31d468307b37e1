"""The serving benchmark: what its upstream charges, what its load sends, and what its count finds."""

import asyncio
import itertools
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest
from pytest_socket import enable_socket, socket_allow_hosts

from zibaldone import InvalidInput, Memory, Message
from zibaldone.bench.outcome import Run
from zibaldone.bench.registry import ServingOptions
from zibaldone.bench.serving.accelerator import Accelerator, PrefixCache
from zibaldone.bench.serving.audit import audit
from zibaldone.bench.serving.load import Phase, Replay, Sample, ServedTalk, again, drive, history_turns
from zibaldone.bench.serving.run import run
from zibaldone.bench.serving.upstream import Served, Upstream
from zibaldone.bench.serving.users import Exchange, ServedUser, read_users
from zibaldone.bench.serving.wire import Connection

EXCHANGES = [Exchange(f"What is {i}?", f"The number {i}, and no other.") for i in range(4)]


@pytest.fixture
def loopback():
    """Sockets of this machine alone."""
    enable_socket()
    socket_allow_hosts(["127.0.0.1"], allow_unix_socket=True)


class Clock:
    """Time that passes when somebody sleeps."""

    def __init__(self):
        self.now = 100.0

    async def sleep(self, seconds):
        self.now += seconds
        await asyncio.sleep(0)


def accelerator(cache=None):
    clock = Clock()
    return clock, Accelerator(1000, 10, cache, clock=lambda: clock.now, sleep=clock.sleep)


def test_prefill_costs_the_length_of_the_prompt():
    """4,000 characters are 1,000 tokens, at 1,000 tokens a second."""
    clock, ours = accelerator()
    prefilled = asyncio.run(ours.prefill("a" * 4000))
    assert (prefilled.tokens, prefilled.cached) == (1000, 0)
    assert clock.now == pytest.approx(101)


def test_prompts_wait_for_each_other():
    """There is one accelerator: three prompts of a second each take three."""
    clock, ours = accelerator()

    async def three():
        await asyncio.gather(*(ours.prefill("a" * 4000) for _ in range(3)))

    asyncio.run(three())
    assert clock.now >= 103


def test_tokens_come_at_the_rate():
    """The fifth at ten a second is there after half a second, however late the fourth was."""
    clock, ours = accelerator()
    asyncio.run(ours.token(5, since=100.0))
    assert clock.now == pytest.approx(100.5)
    clock.now = 107
    asyncio.run(ours.token(6, since=100.0))
    assert clock.now == 107


def test_the_prefix_cache_shares_what_stands_at_the_beginning():
    """In blocks of 64 characters, up to the first difference."""
    cache = PrefixCache()
    prompt = "".join(f"{i:063} " for i in range(10))
    assert cache.take(prompt) == 0
    assert cache.take(prompt) == 160
    changed = prompt[:200] + "X" + prompt[201:]
    assert cache.take(changed) == 48
    assert cache.take("Y" + prompt) == 0


def test_the_oldest_blocks_leave_the_cache():
    """There is room for so many."""
    cache = PrefixCache(blocks=2)
    cache.take("a" * 64)
    cache.take("b" * 64)
    cache.take("c" * 64)
    assert cache.take("a" * 64) == 0


def test_only_what_is_not_cached_is_charged():
    """An answer is remembered with its prompt."""
    clock, ours = accelerator(PrefixCache())
    ours.remember("a" * 4000)
    asyncio.run(ours.prefill("a" * 4000 + "b" * 4000))
    assert clock.now == pytest.approx(101, abs=0.05)


@asynccontextmanager
async def upstream(prefix_cache=False):
    """Its port."""
    server = await Upstream(1e6, 1000, prefix_cache=prefix_cache).serve()
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


async def records(port):
    connection = Connection(port)
    served = await connection.ask("GET", "/records")
    connection.close()
    return [Served(**record) for record in served]


def talk(user="ann", exchanges=EXCHANGES, **options):
    return ServedTalk(ServedUser(user, "data", (), iter(())), "phase", iter(exchanges), 3, **options)


@pytest.mark.usefixtures("loopback")
def test_the_upstream_answers_with_the_prediction():
    """Streamed; each client sees its own answers, and the upstream knows when each was received and begun."""

    async def measured():
        async with upstream() as port:
            phase = await drive(port, [talk(), talk("ben", EXCHANGES[::-1])], memory=False)
            return phase, await records(port)

    phase, served = asyncio.run(measured())
    assert [sample.fault for sample in phase.samples] == [None] * 8
    assert [sample.answer for sample in phase.samples if sample.user == "ann"] == [
        e.answer for e in EXCHANGES
    ]
    by_name = {record.request: record for record in served}
    for sample in phase.samples:
        record = by_name[sample.request]
        assert sample.sent <= record.received <= record.first <= sample.first <= sample.ended
        assert record.prompt_tokens > 50


@pytest.mark.usefixtures("loopback")
def test_a_prompt_begins_with_the_one_before_it_while_a_session_lasts():
    """Three exchanges make a session here; then the system's words alone are shared."""

    async def measured():
        async with upstream() as port:
            await drive(port, [talk()], memory=False)
            return await records(port)

    first, second, third, fourth = asyncio.run(measured())
    assert first.previous_tokens == 0
    assert second.shared_tokens == pytest.approx(second.previous_tokens, abs=1)
    assert third.shared_tokens == pytest.approx(third.previous_tokens, abs=1)
    assert fourth.shared_tokens < fourth.previous_tokens


@pytest.mark.usefixtures("loopback")
def test_whoever_sends_the_turn_alone_sends_no_session():
    """And whoever has no memory sends the history too."""

    async def measured():
        async with upstream() as port:
            alone = talk("ann", alone=True)
            full = talk("ben", before=[{"role": "user", "content": "Once upon a time. " * 20}])
            await drive(port, [alone, full], memory=False)
            return await records(port)

    lengths = {record.request: record.prompt_tokens for record in asyncio.run(measured())}
    assert lengths["phase/ann/2"] == pytest.approx(lengths["phase/ann/0"], abs=1)
    assert lengths["phase/ben/2"] > lengths["phase/ben/0"] > lengths["phase/ann/0"] + 80


class Noting:
    """A worker whose wishes are kept."""

    def __init__(self, worker):
        self.worker, self.wishes = worker, []

    def next_wish(self):
        self.wishes += [wished] if (wished := self.worker.next_wish()) else []
        return wished

    def hear(self, sample):
        self.worker.hear(sample)


@pytest.mark.usefixtures("loopback")
def test_the_same_prompts_are_sent_again():
    """As they came, under another name."""

    async def measured():
        async with upstream() as port:
            connection = Connection(port)
            await connection.ask("POST", "/reset", {"keep": True})
            worker = Noting(talk())
            await drive(port, [worker], memory=False)
            made = {record.request: record for record in await records(port)}
            await connection.ask("POST", "/reset", {})
            connection.close()
            replay = Replay(again(wished, made[wished.request].body, "same") for wished in worker.wishes)
            phase = await drive(port, [replay], memory=False)
            return phase, made, await records(port)

    phase, made, served = asyncio.run(measured())
    assert [sample.fault for sample in phase.samples] == [None] * 4
    assert [record.request for record in served] == [f"same/ann/{i}" for i in range(4)]
    assert [record.prompt_tokens for record in served] == [record.prompt_tokens for record in made.values()]
    assert all(record.body is None for record in served)


@pytest.mark.usefixtures("loopback")
def test_what_goes_wrong_is_a_fault_of_its_request():
    """A server that knows no such path, and one that is not there."""

    async def measured():
        server = await asyncio.start_server(refuse, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        refused = await drive(port, [talk(exchanges=EXCHANGES[:1])], memory=False)
        server.close()
        await server.wait_closed()
        gone = await drive(port, [talk(exchanges=EXCHANGES[:1])], memory=False)
        return refused.samples[0], gone.samples[0]

    async def refuse(reader, writer):
        writer.write(b"HTTP/1.1 503 -\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbusy")
        await writer.drain()
        writer.close()

    refused, gone = asyncio.run(measured())
    assert refused.fault == "status 503: busy"
    assert gone.fault.startswith("ConnectionRefusedError")


def test_tokens_count_while_all_are_busy():
    """Half of the second answer came after the first worker had ended."""
    samples = tuple(sample(str(i), answer="a" * 40, first=10.0, ended=12.0 + 2 * i) for i in range(2))
    phase = Phase(samples, began=10.0, ended=12.0)
    assert phase.tokens == pytest.approx(15)
    assert phase.seconds == 2


def test_users_continue_where_their_history_ends(locomo_path):
    """The first who speaks in a session is the user; history and exchanges of a user do not overlap."""
    (user,) = read_users([locomo_path], 1, 2, 100)
    assert [message.content for message in user.history] == [
        "I adopted a greyhound called Comet.",
        "Lovely! My sister plays the cello in Graz. [image: a cello]",
    ]
    assert list(itertools.islice(user.exchanges, 2)) == [
        Exchange("We flew to Lisbon and ate custard tarts.", "I quit my job at the brewery."),
        Exchange("My telescope shows the rings of Saturn.", "I collect fountain pens from Osaka."),
    ]


def test_a_conversation_never_ends(locomo_path):
    """It begins anew in other sessions; answers are cut."""
    first, second = read_users([locomo_path], 2, 20, 3)
    assert len({message.session for message in first.history}) == 10
    assert all(len(exchange.answer) <= 12 for exchange in itertools.islice(first.exchanges, 20))
    assert first.history[0].content != second.history[0].content


def test_the_history_is_cut_to_the_window():
    """The newest turns stay."""
    time = datetime(2024, 1, 1, tzinfo=UTC)
    history = tuple(
        Message("x" * 39 + str(i), role="user" if i % 2 == 0 else "assistant", time=time) for i in range(10)
    )
    turns = history_turns(ServedUser("ann", "data", history, iter(())), 30)
    assert [(turn["role"], turn["content"][-1]) for turn in turns] == [
        ("assistant", "7"),
        ("user", "8"),
        ("assistant", "9"),
    ]


def sample(request, *, question="q", answer="a", memory="ok", fault=None, first=1.0, ended=2.0):
    return Sample(request, "ann", "s", question, answer, 0.0, first, ended, memory, None, None, fault)


def test_the_count_finds_what_is_lost_doubled_and_foreign(tmp_path):
    """What the server did not acknowledge may be there or not."""
    with Memory(tmp_path / "memory") as memory:
        for content in ("q1", "a1", "q2", "q2", "recalled context", "q3"):
            memory.add(content, user="ann", session="s")
    samples = [
        sample("1", question="q1", answer="a1"),
        sample("2", question="q2", answer="a2"),
        sample("3", question="q3", answer="a3", memory="degraded"),
        sample("4", question="q4", answer="", fault="status 500"),
    ]
    counted = audit(tmp_path / "memory", samples)
    assert counted.acknowledged == 4
    assert counted.lost == 1
    assert counted.doubled == 1
    assert counted.foreign == 1
    assert (counted.unacknowledged, counted.of_those_stored) == (3, 1)


def test_an_arm_that_needs_another_says_so(tmp_path, locomo_path):
    """Before anything is started."""
    with pytest.raises(InvalidInput, match="--arms 'same'"):
        run(ServingOptions(paths=(locomo_path,), arms=("turn", "same")), Run("bench", tmp_path))
    with pytest.raises(InvalidInput, match="'fast' is not one of"):
        run(ServingOptions(paths=(locomo_path,), arms=("fast",)), Run("bench", tmp_path))


@pytest.mark.usefixtures("loopback")
def test_the_arms_without_memory(tmp_path, locomo_path):
    """The upstream in a process of its own; a row for each arm and concurrency, without a failure."""
    options = ServingOptions(
        paths=(locomo_path,),
        arms=("turn", "session", "full"),
        concurrency=(1, 2),
        requests=1,
        history=40,
        answer=4,
        rate=2000.0,
    )
    measured = run(options, Run("bench", tmp_path))
    rows = measured.figures["rows"]
    assert [(row.arm, row.concurrency) for row in rows] == [
        (arm, concurrency) for concurrency in (1, 2) for arm in ("turn", "session", "full")
    ]
    assert [row.failures for row in rows] == [0] * 6
    by_arm = {row.arm: row for row in rows if row.concurrency == 2}
    assert by_arm["turn"].prompt_tokens < by_arm["session"].prompt_tokens < by_arm["full"].prompt_tokens
    assert all(row.tokens_per_s > 0 for row in rows)


@pytest.mark.wide
@pytest.mark.usefixtures("loopback")
def test_the_gateway_is_measured_and_its_log_counted(tmp_path, locomo_path):
    """What it recalled is in the prompts; they are sent again without it; no turn is lost."""
    options = ServingOptions(
        paths=(locomo_path,),
        arms=("session", "gateway", "same"),
        concurrency=(2,),
        requests=1,
        history=40,
        answer=4,
        rate=2000.0,
        minutes=0.02,
    )
    measured = run(options, Run("bench", tmp_path))
    rows = {row.arm: row for row in measured.figures["rows"]}
    assert [row.failures for row in rows.values()] == [0] * 3
    assert rows["gateway"].prompt_tokens > rows["session"].prompt_tokens
    assert rows["same"].requests == rows["gateway"].requests
    assert rows["same"].prompt_tokens == pytest.approx(rows["gateway"].prompt_tokens)
    assert rows["gateway"].added_p50_ms > 0
    counted, soak = measured.figures["audit"], measured.figures["soak"]
    assert (counted.lost, counted.doubled, counted.foreign) == (0, 0, 0)
    assert counted.acknowledged + counted.unacknowledged >= 2 * (rows["gateway"].requests + soak.requests)
    assert soak.failures == 0
    assert len(measured.notes) == 4
