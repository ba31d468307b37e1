"""Every benchmark: its name, its options, and what runs it.

Options are frozen dataclasses. Their fields are a command's options, their docstrings its help; `cli.bench`
makes the commands. Nothing is imported here that a list of the benchmarks does not need.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import MISSING, dataclass, field
from pathlib import Path
from typing import Any

from zibaldone.bench.outcome import Measurement, Run, need

Ints = tuple[int, ...]  # above 0
Floats = tuple[float, ...]
Names = tuple[str, ...]


def option(default: Any, text: str, *, least: float | None = None, most: float | None = None) -> Any:
    """A field that is an option of its name."""
    return field(default=default, metadata={"help": text, "min": least, "max": most})


def argument(text: str, default: Any = MISSING) -> Any:
    """A field that stands without a name."""
    return field(default=default, metadata={"help": text, "argument": True})


def _systems(*names: str) -> Any:
    return option(
        names,
        "Systems, with commas (also: zibaldone, which is recall by default, zsum, bm25-user, topics-h,"
        " messages+chunks, chunks-whole, -nojoint,"
        " -dense, -session, messages+hierarchy, hierarchy-memory, -repsel, -uncsion).",
    )


def _floor() -> Any:
    return option(None, "The engine's confidence floor; else its own.", least=0, most=1)


@dataclass(frozen=True, kw_only=True)
class LongMemEvalOptions:
    """Evidence recall on LongMemEval (a file in the format of longmemeval_s.json)."""

    path: Path = argument("The benchmark's data file.")
    budget: Ints = option((500, 1000, 2000), "Token budgets, with commas.")
    systems: Names = _systems("bm25", "dense", "rag", "full", "messages", "chunks", "hierarchy")
    limit: int | None = option(None, "Only the first N questions.", least=1)
    floor: float | None = _floor()


@dataclass(frozen=True, kw_only=True)
class LoCoMoOptions(LongMemEvalOptions):
    """Evidence recall on LoCoMo (a file in the format of data/locomo10.json)."""

    errors: Path | None = option(None, "Audit of faulted questions; else locomo-errors.json beside the data.")


@dataclass(frozen=True, kw_only=True)
class BEAMOptions(LongMemEvalOptions):
    """Evidence recall on BEAM: the user's own messages among the sources, by kind, and rubric nuggets."""

    path: Path = argument("The folder of a chat, or of several.")
    budget: Ints = option((1000, 2000, 4000), "Token budgets, with commas.")
    systems: Names = _systems("messages", "bm25", "bm25-user", "dense", "full")


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """Answers read from the recalled text, and judged: by a chat model, or by whoever answers recordings."""

    path: Path = argument("A LoCoMo or LongMemEval file, or a folder of BEAM chats.")
    budget: Ints = option((2000,), "Token budgets, with commas.")
    systems: Names = _systems("zibaldone", "bm25-user", "full")
    questions: int | None = option(None, "A sample of so many, each kind by its share; else all.", least=1)
    kinds: Names = option((), "Only questions of these kinds, with commas.")
    ids: Names = option((), "Only the questions of these ids, with commas.")
    most_full: int = option(256_000, "Tokens of the longest conversation that 'full' is tried on.", least=1)
    reader_name: str | None = option(None, "Who reads; else the model's name, or the recordings'.")
    judge_name: str | None = option(None, "Who judges; else the model's name, or the recordings'.")
    workers: int = option(4, "Questions that a model is asked at a time.", least=1)
    floor: float | None = _floor()


@dataclass(frozen=True, kw_only=True)
class LeaderboardOptions:
    """The leaderboard's main rows in one run (a LoCoMo file): to be held against another commit's."""

    path: Path = argument("A LoCoMo file.")
    longmemeval: Path | None = option(None, "A LongMemEval file, for its rows too.")
    limit: int | None = option(None, "Only the first N questions of a file.", least=1)


@dataclass(frozen=True, kw_only=True)
class FloorOptions:
    """Trade-off of the confidence floor on LoCoMo: what it empties, what it loses."""

    path: Path = argument("A LoCoMo file.")
    limit: int | None = option(None, "Questions of each kind per conversation.", least=1)


@dataclass(frozen=True, kw_only=True)
class FeltOptions:
    """Questions to a chat as people type them, forty to the demo's: is what they need recalled?"""

    chat: str = option(
        "demo", "demo, nurse (a chat with an assistant), workshop (one in German) or agent (of code)."
    )
    budget: Ints = option((300, 1000), "Token budgets, with commas.")
    questions: bool = option(False, "Each question, with what it misses and why.")
    floor: float | None = _floor()


@dataclass(frozen=True, kw_only=True)
class WeightsOptions:
    """Refit the ranking's weights: each conversation and data set judged by those of others; ablations."""

    paths: tuple[Path, ...] = argument("LoCoMo or LongMemEval files, and folders of BEAM chats.")
    rows: Names = option(
        (), "Only rows whose names hold one of these, with commas; changes are from the first."
    )


@dataclass(frozen=True, kw_only=True)
class SpeedOptions:
    """Writing, recalling, memory and disk, each beside its physical yardstick."""

    path: Path | None = argument("A LoCoMo file; else made-up turns.", None)
    sizes: Ints = option((1000, 10000, 100000), "Numbers of messages, with commas.")
    postgres: str | None = option(
        None,
        "The URL of a PostgreSQL database: the same there, call by call.",
    )
    encrypted: bool = option(False, "The same in an encrypted folder, call by call.")
    user_keys: bool = option(False, "The same in a folder whose users have keys, call by call.")


@dataclass(frozen=True, kw_only=True)
class ImportOptions:
    """Time, processor time and memory of importing a generated ChatGPT export."""

    megabytes: Ints = option((100,), "Sizes of the export's JSON, with commas.")
    read_only: bool = option(False, "Read and check it, and store nothing.")
    bombs: bool = option(False, "Instead, archives that nobody should unpack: is each refused, at what cost?")


@dataclass(frozen=True, kw_only=True)
class LocalityOptions:
    """Where the chunks view puts its chunks, beside other layouts: blocks per request, latency, bytes."""

    path: Path = argument("A LoCoMo file: its conversations as one user's.")
    beam: Path | None = option(None, "A folder of BEAM chats, for a second trace.")
    chats: int = option(3, "Of BEAM's chats, the shortest first.", least=1)
    block_kib: Ints = option((4, 16, 64), "Block sizes, with commas.")
    updates: Floats = option((0.0, 0.2), "Shares of related chunks that a gate rewrites, with commas.")


@dataclass(frozen=True, kw_only=True)
class HierarchyOptions:
    """The hierarchy view's themes, and what they cost (a LoCoMo file); a theme map."""

    path: Path = argument("A LoCoMo file.")
    only: Names = option(("themes", "speed"), "Parts, with commas.")
    caps: Ints = option((8, 10, 12, 14), "Most semantics of a theme, with commas.")
    sizes: Ints = option((1000, 10000), "Numbers of semantics that are put in themes, with commas.")
    plot: Path | None = option(None, "Write the first conversation's theme map (extra 'plot').")


@dataclass(frozen=True, kw_only=True)
class ConsolidationOptions:
    """Facts that later ones override: is what holds now recalled, and what no longer holds left out?"""

    sizes: Ints = option((6_000,), "Tokens of the streams, with commas.")
    budget: Ints = option((500, 1000, 2000), "Token budgets, with commas.")
    systems: Names = _systems("zibaldone", "messages", "topics-h")
    streaming: str = option("chunks", "One message for each of the 'chunks' or of the 'facts'.")
    wordings: Names = option(
        ("natural", "mixed", "same"),
        "An override's: people's own in a chat; one of several templates; the same as what it overrides.",
    )
    questions: int = option(100, "Of each kind, per stream.", least=1)
    seed: int = option(0, "The first one, of names, facts, questions and places.", least=0)
    seeds: int = option(10, "How many streams of each kind.", least=1)
    floor: float | None = _floor()


@dataclass(frozen=True, kw_only=True)
class PromptsOptions:
    """Conversations through every prompt of the views: answers taken and refused, calls, tokens, recall."""

    path: Path | None = argument(
        "A LoCoMo or LongMemEval file, or a folder of BEAM chats; else the demo's conversation.", None
    )
    views: Names = option(("chunks", "hierarchy", "topics", "plan"), "With commas; 'plan' is the planner.")
    talks: int = option(5, "Pieces of conversations.", least=1)
    messages: int = option(200, "Messages of a piece at most.", least=1)
    budget: int = option(500, "Tokens of a recall.", least=1)
    gate: int = option(1024, "Tokens at which a chunk is compacted.", least=1)
    extraction: int = option(4096, "Tokens of messages from which topics are extracted at a time.", least=1)
    copying: bool = option(False, "In place of a model, copy: calls and tokens without one.")
    refusals: bool = option(False, "Each answer, and each part of one, that was not taken.")
    workers: int = option(4, "Users, and questions of one, that a model is asked at a time.", least=1)


@dataclass(frozen=True, kw_only=True)
class OverridesOptions:
    """Overrides in people's own words inside a chat: what holds now recalled, what held before marked?"""

    budget: Ints = option((250, 500, 1000), "Token budgets, with commas.")
    questions: bool = option(False, "Each question that is not answered right.")
    floor: float | None = _floor()


@dataclass(frozen=True, kw_only=True)
class KVOptions:
    """Answers from KV memory beside full context, truncation, text recall and others (extra 'kv')."""

    model: Path | None = option(None, "A folder that kv-train wrote; else the checkpoint of this package.")
    multiples: Floats = option((0.9, 8.0, 31.0, 117.0), "Lengths of history in windows, with commas.")
    questions: int = option(100, "At each length.", least=1)
    seed: int = option(0, "Of conversations and questions.")
    most_full: float = option(31.0, "Longest history that full context is tried on, in windows.")
    ablations: bool = option(False, "The best settings but for one each.")
    grid: bool = option(False, "The paper's Figure 5: strategies, block sizes and k, at 8 windows.")


@dataclass(frozen=True, kw_only=True)
class KVLoCoMoOptions:
    """LoCoMo by a pretrained model: memory as text, as KV, and as the paper has it (extra 'kv')."""

    path: Path = argument("A LoCoMo file.")
    model: Path | None = option(None, "A folder of Transformers, or a .gguf file.")
    conversations: int = option(2, "Of the file, from the first.", least=1)
    questions: int = option(60, "Of all conversations together.", least=1)
    history: int = option(5500, "Tokens of a conversation: whole sessions from the first.", least=1)
    budget: int = option(512, "Tokens in sight, for every arm.", least=1)
    answer: int = option(12, "Tokens of an answer; 0: gold answers are scored, and none is given.", least=0)
    heads: Ints = option((500, 1000), "Budgets at which each head's evidence recall is measured.")
    arms: Names = option((), "Of these arms only, with commas, 'heads' for the table of heads; else of all.")
    chat: bool = option(False, "Turns as the tokenizer's chat template writes them, not plainly.")
    threads: int = option(1, "Of the processor.", least=1)
    keep: Path | None = option(None, "A file of what was asked: a run that was cut off goes on from there.")


@dataclass(frozen=True, kw_only=True)
class HangingOptions:
    """Adds, recalls and forgets beside a recall whose model hangs, and without."""

    calls: int = option(50, "Of each kind and user, whose median counts.", least=2)


@dataclass(frozen=True, kw_only=True)
class ServingOptions:
    """The gateway under load, before a loopback upstream, beside the upstream alone (extra 'server')."""

    paths: tuple[Path, ...] = argument("Files of conversations, and folders of BEAM chats.")
    concurrency: Ints = option((1, 2, 4, 8, 16), "Requests at a time, each of another user, with commas.")
    requests: int = option(48, "Of an arm at a concurrency, and eight of each user at least.", least=1)
    minutes: float = option(0.0, "Then load of so long, with as many users as there are.", least=0)
    arms: Names = option(
        ("turn", "session", "full", "gateway", "same"), "What is sent to the upstream, with commas."
    )
    history: int = option(10_000, "Messages of each user that are imported first.", least=0)
    turns: int = option(6, "Exchanges of a session.", least=1)
    window: int = option(32_000, "Tokens of history that 'full' sends.", least=1)
    answer: int = option(64, "Tokens of an answer at most.", least=1)
    prefill: float = option(20_000.0, "Tokens that the upstream prefills in a second.", least=1)
    rate: float = option(60.0, "Tokens of a stream in a second.", least=1)
    prefix_cache: bool = option(False, "Only what no earlier prompt began with is prefilled.")
    memory: Path | None = option(None, "Keep the imported histories here, to be used again.")
    processes: int = option(1, "That recall and store for the gateway; 0: the server's own.", least=0)


@dataclass(frozen=True, kw_only=True)
class FleetOptions:
    """A fleet over PostgreSQL and a bucket under load, its processes killed: is any promise broken?"""

    path: Path | None = argument("A LoCoMo file, of whose turns messages are made; else made-up turns.", None)
    servers: int = option(4, "Processes that serve.", least=1)
    workers: int = option(3, "Processes that maintain.", least=1)
    users: int = option(2000, "Who talk: the first most, by a Zipf distribution.", least=1, most=65_000)
    minutes: float = option(30.0, "Of load.", least=0)
    clients: int = option(8, "Requests at a time.", least=1)
    regulars: int = option(3, "Users with a history from before.", least=0)
    history: int = option(2000, "Messages of that, each.", least=0)
    kill_s: float = option(20.0, "Seconds from one kill -9 of a process to the next; 0: none.", least=0)
    restart_s: float = option(240.0, "The same of PostgreSQL, and of outages of the bucket.", least=0)
    wait_s: float = option(600.0, "Seconds that views may need after the load.", least=0)
    no_bucket: bool = option(False, "Blocks as rows, and no views of chunks.")
    replica: bool = option(False, "Recalls from a streaming standby, which is killed like the primary.")
    seed: int = option(0, "Of who does what, and who is killed when.")


@dataclass(frozen=True, kw_only=True)
class SizingOptions:
    """Rows, bytes and processor seconds of a message over PostgreSQL and a bucket; what many users need."""

    path: Path | None = argument("A LoCoMo file, of whose turns messages are made; else made-up turns.", None)
    users: int = option(100, "Who are measured.", least=2)
    messages: int = option(500, "Of each.", least=1)
    calls: int = option(200, "Of each kind that is timed.", least=1)
    chunks: bool = option(False, "The view of chunks, too.")
    idle: int = option(20_000, "Users besides who say nothing, for the looks of workers.", least=10)
    for_users: Ints = option((1_000, 1_000_000, 100_000_000), "Users that figures are multiplied to.")
    kept: int = option(2_000, "Messages kept of a user.", least=1)
    adds: float = option(20.0, "Messages that a user adds a day.", least=0)
    recalls: float = option(10.0, "Recalls of a user a day.", least=0)
    turns: float = option(2.0, "Messages that come within seconds, and are maintained together.", least=1)
    peak: float = option(5.0, "How many times the mean the peak hour has.", least=1)


@dataclass(frozen=True, kw_only=True)
class ScaleOptions:
    """One user's memory as it grows, and many users in one folder: adding, maintaining, opening, room."""

    path: Path | None = argument("A LoCoMo file or a folder of BEAM chats; else made-up turns.", None)
    sizes: Ints = option((1_000, 10_000), "Numbers of messages, with commas.")
    tokens: int = option(0, "Then a memory of so many tokens; 0: none.", least=0)
    views: Names = option(("messages", "notes"), "That are maintained, with commas.")
    users: int = option(0, "Then so many users in one folder; 0: none.", least=0)
    each: int = option(100, "Messages of each of them.", least=1)
    maintained: int = option(200, "Of them are maintained, and asked once each.", least=2)


@dataclass(frozen=True, kw_only=True)
class BesideOptions:
    """A message added while another process maintains the same user, or adds messages of megabytes."""

    path: Path | None = argument("A LoCoMo file; else made-up turns.", None)
    history: int = option(10_000, "Messages that are there to be maintained.", least=1)
    calls: int = option(200, "Adds of each kind.", least=2)
    megabytes: float = option(5.0, "Of a long message.", least=0.001)


@dataclass(frozen=True, kw_only=True)
class PageOptions:
    """The page's answers one after the other: first page, search as one types, recall (extra 'server')."""

    path: Path | None = argument("A LoCoMo file; else made-up turns.", None)
    sizes: Ints = option((10_000, 100_000), "Numbers of messages, with commas.")
    requests: int = option(40, "Of each kind.", least=1)


@dataclass(frozen=True, kw_only=True)
class CommandsOptions:
    """Whole processes of 'zibaldone recall', with the memory held in the background and without."""

    path: Path | None = argument("A LoCoMo file; else made-up turns.", None)
    sizes: Ints = option((1_000, 10_000), "Numbers of messages, with commas.")
    runs: int = option(20, "Of each kind.", least=1)


@dataclass(frozen=True, kw_only=True)
class KVSpeedOptions:
    """Time to first token beside full context and text; ingest, disk, scoring (extra 'kv')."""

    shape: str = option("0.5b", "tiny, 0.5b (Qwen2.5) or 8b (Llama-3.1).")
    device: str | None = option(None, "cpu or cuda; else cuda where it is.")
    history: Ints = option((4096, 16384), "Tokens, with commas: whole turns.")
    top_k: int = option(64, "Blocks of 16 tokens that are recalled.")
    blocks: Ints = option((10_000, 100_000), "To score, with commas.")
    repeat: int = option(3, "Of the calls whose median counts.")
    threads: int | None = option(None, "Of the processor; else torch's own.")


@dataclass(frozen=True, kw_only=True)
class KVVLLMOptions:
    """vLLM with a pool's blocks beside vLLM with the same text, prefix cache off and on (extra 'vllm')."""

    path: Path = argument("A LoCoMo file.")
    model: Path | None = option(None, "A folder of Transformers, or a .gguf file.")
    history: int = option(2000, "Tokens of its first conversation: whole sessions.", least=1)
    budget: int = option(512, "Tokens of memory in sight.", least=1)
    questions: int = option(5, "Whose median counts.", least=1)
    dtype: str = option("float32", "What vLLM and the pool compute in: float32, bfloat16, float16.")


@dataclass(frozen=True, kw_only=True)
class KVTrainOptions:
    """Train the small model that the kv benchmark judges with (extra 'kv')."""

    folder: Path = argument("Where model and tokenizer go.")
    minutes: float = option(8.0, "How long.", least=0.01)
    seed: int = option(0, "Of weights and dialogues.")
    threads: int = option(1, "Of the processor.", least=1)


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One benchmark. `runs` names a function of a module here, from options and a Run to a Measurement."""

    name: str
    options: type[Any]
    runs: str
    asks_models: bool = False  # it can be run with a chat model, or from recordings of one
    needs_torch: bool = False

    def run(self, options: Any, run: Run) -> Measurement:
        """Measure. Raises MissingExtra where a module is not installed."""
        if self.needs_torch:
            need("torch", "transformers")
        module, _, function = self.runs.partition(":")
        call: Callable[[Any, Run], Measurement] = getattr(
            importlib.import_module(f"zibaldone.bench.{module}"), function
        )
        return call(options, run)


BENCHMARKS = (
    Benchmark("locomo", LoCoMoOptions, "report:run_locomo", asks_models=True),
    Benchmark("longmemeval", LongMemEvalOptions, "report:run_longmemeval", asks_models=True),
    Benchmark("beam", BEAMOptions, "report:run_beam"),
    Benchmark("read", ReadOptions, "reading.run:run", asks_models=True),
    Benchmark("leaderboard", LeaderboardOptions, "leaderboard:run"),
    Benchmark("floor", FloorOptions, "floor:run"),
    Benchmark("felt", FeltOptions, "felt:run"),
    Benchmark("weights", WeightsOptions, "weights:run"),
    Benchmark("speed", SpeedOptions, "speed:run"),
    Benchmark("scale", ScaleOptions, "scale:run"),
    Benchmark("beside", BesideOptions, "beside:run"),
    Benchmark("import", ImportOptions, "imports:run"),
    Benchmark("hanging", HangingOptions, "hanging:run"),
    Benchmark("serving", ServingOptions, "serving.run:run"),
    Benchmark("page", PageOptions, "page:run"),
    Benchmark("commands", CommandsOptions, "commands:run"),
    Benchmark("fleet", FleetOptions, "fleet.run:run"),
    Benchmark("sizing", SizingOptions, "fleet.sizing:run"),
    Benchmark("locality", LocalityOptions, "locality.run:run"),
    Benchmark("hierarchy", HierarchyOptions, "hierarchy.report:run"),
    Benchmark("consolidation", ConsolidationOptions, "consolidation.run:run"),
    Benchmark("overrides", OverridesOptions, "consolidation.natural:run"),
    Benchmark("prompts", PromptsOptions, "prompting.run:run", asks_models=True),
    Benchmark("kv", KVOptions, "kv.quality:run", needs_torch=True),
    Benchmark("kv-speed", KVSpeedOptions, "kv.speed:run", needs_torch=True),
    Benchmark("kv-locomo", KVLoCoMoOptions, "kv.locomo:run", needs_torch=True),
    Benchmark("kv-vllm", KVVLLMOptions, "kv.in_vllm:run", needs_torch=True),
    Benchmark("kv-train", KVTrainOptions, "kv.train:run", needs_torch=True),
)
