"""A memory with a tiny model attached: words are tokens, weights are random, keys are exact."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import torch
from kv_models import SHAPE
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from zibaldone import Config, Memory
from zibaldone.api.kv import KVMemory, MemArt, TurnFormat
from zibaldone.engine.generations import serving
from zibaldone.testing import FrozenClock
from zibaldone.views.kvcache.model.encoding import Encoder
from zibaldone.views.kvcache.storage import manifest
from zibaldone.views.kvcache.storage.manifest import KVBlock, Pool, PoolReader

USER = "ann"
QUESTION = "w3 w4 w5"
TURN = 7  # tokens of a line of six words
CONFIG = MemArt(block_tokens=8, context_tokens=16, segment_tokens=48, recent_tokens=8)
PAPER = replace(MemArt.paper(), block_tokens=8, segment_tokens=48)
FORM = TurnFormat(turn=lambda message: f"{message.content} END", ask=lambda _: "SAY", pinned="PIN")
_WORDS = tuple(f"w{i}" for i in range(180))
_MARKS = ("PAD", "BOS", "EOS", "END", "SAY", "PIN")
_MADE, _NUMBERS = tempfile.TemporaryDirectory(), count()  # folders that tests get copies of
_VECTOR = 32  # bytes of one head's key or value of one token


@cache
def tokenizer(*, more: bool = False) -> PreTrainedTokenizerFast:
    """A word is a token; with `more` the same words have other numbers."""
    words = (*_MARKS, *(reversed(_WORDS) if more else _WORDS))
    made = Tokenizer(WordLevel({word: i for i, word in enumerate(words)}, unk_token="PAD"))
    made.pre_tokenizer = WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=made, bos_token="BOS", eos_token="EOS", pad_token="PAD")


def model(seed: int = 0, dtype: torch.dtype = torch.float32) -> Any:
    """Two layers of random weights; the same for the same seed."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        sizes = {"vocab_size": len(tokenizer()), "hidden_size": 32, "intermediate_size": 64}
        made = LlamaForCausalLM(LlamaConfig(**SHAPE | sizes, initializer_range=0.3))
    return made.to(dtype).eval()


def line(number: int, words: int = 6) -> str:
    """Words that no other line of a number below 30 has, when there are at most six."""
    return " ".join(f"w{(6 * number + i) % len(_WORDS)}" for i in range(words))


class Rig:
    """A folder, open, with a model."""

    def __init__(
        self,
        folder: Path,
        *,
        seed: int = 0,
        dtype: torch.dtype = torch.float32,
        config: MemArt = CONFIG,
        form: TurnFormat = FORM,
        words: Any = None,
    ) -> None:
        self.memory = without_model(folder)
        try:
            self.kv = KVMemory(
                model(seed, dtype), words or tokenizer(), self.memory, config=config, format=form
            )
        except BaseException:
            self.memory.close()
            raise
        self.view, self.database, self.folder = self.kv.view, self.kv._database, folder

    def __enter__(self) -> Rig:
        return self

    def __exit__(self, *_: object) -> None:
        self.kv.close()
        self.memory.close()

    def say(self, *lines: str, user: str = USER, session: str = "1", remember: bool = True) -> list[int]:
        """Add the lines, and encode them; returns their seqs."""
        stored = self.memory.add(list(lines), user=user, session=session)
        if remember:
            self.kv.remember(user=user)
        return [message.seq for message in stored]

    def ask(self, question: str = QUESTION, user: str = USER, turns: int = 4, **options: Any) -> Any:
        """An answer of three tokens, with room for so many turns, or with so many blocks."""
        tokens = TURN if self.kv.config.whole_turns else self.kv.config.block_tokens
        given = {"max_new_tokens": 3, "budget_tokens": tokens * turns, **options}
        return self.kv.generate(question, user=user, **given)

    def pool(self, user: str = USER) -> Pool | None:
        """The serving generation's."""
        with self.database.read() as connection:
            generation = serving(connection, user, self.view)
            return manifest.pool(connection, generation) if generation else None

    def blocks(self, user: str = USER) -> list[KVBlock]:
        """All rows."""
        pool = self.pool(user)
        with self.database.read() as connection:
            return manifest.all_blocks(connection, pool.generation) if pool else []

    def seqs(self, user: str = USER) -> set[int]:
        """Messages that have blocks."""
        return {seq for block in self.blocks(user) for seq in block.tile.seqs}

    def reader(self, user: str = USER) -> PoolReader:
        """Blocks of the serving generation."""
        pool = self.pool(user)
        assert pool is not None
        return PoolReader(pool, self.database.read)

    def forget(self, user: str = USER, **selected: Any) -> Any:
        """Forget, and encode anew what had seen it; the receipt."""
        receipt = self.memory.forget(user=user, **selected)
        self.kv.remember(user=user)
        return receipt

    def made(self, user: str = USER) -> dict[tuple[object, ...], tuple[bytes, bytes]]:
        """By place and tokens: payload and boxes of every block."""
        pool = self.pool(user)
        if pool is None:
            return {}
        with self.database.read() as connection:
            boxes = {b.number: data for b, data in manifest.boxes_of(connection, pool.generation)}
        return {
            (*block.place, block.tile.ids): (self.view.read(pool.generation, block), boxes[block.number])
            for block in self.blocks(user)
        }

    def path(self, number: int = 1, user: str = USER) -> Path:
        """File of a block."""
        pool = self.pool(user)
        assert pool is not None
        return self.view.path(pool.generation, self.blocks(user)[number - 1])


def without_model(folder: Path) -> Memory:
    """The folder, opened by somebody who has no model."""
    return Memory(folder, config=Config(clock=FrozenClock()))


def vectors(data: Iterable[bytes]) -> set[bytes]:
    """The keys and values of single tokens and heads, without empty ones."""
    found = {one[i : i + _VECTOR] for one in data for i in range(0, len(one), _VECTOR)}
    return {one for one in found if any(one)}


def held(folder: Path) -> bytes:
    """Every byte of every file of the kv folder."""
    root = folder / "kv"
    return b"|".join(path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file())


def database_bytes(folder: Path) -> bytes:
    """Every byte of the database and its log; SQLite's shared memory holds page numbers alone."""
    files = [path for path in sorted(folder.iterdir()) if path.is_file() and path.suffix != ".sqlite3-shm"]
    return b"|".join(path.read_bytes() for path in files)


def secrets_of(before: Sequence[Iterable[bytes]], after: Sequence[Iterable[bytes]]) -> set[bytes]:
    """Vectors of what was there before, which nothing that may stay has."""
    return {one for data in before for one in vectors(data)} - {
        one for data in after for one in vectors(data)
    }


def leaked(secrets: Iterable[bytes], folder: Path) -> int:
    """How many of them some file still has."""
    everything = held(folder)
    return sum(secret in everything for secret in secrets)


def token_bytes(text: str) -> bytes:
    """A text's tokens as the manifest keeps them."""
    ids = tokenizer()(text, add_special_tokens=False)["input_ids"]
    return b"".join(int(i).to_bytes(4, "little") for i in ids)


def flip(path: Path, at: int) -> None:
    """One byte is another."""
    data = bytearray(path.read_bytes())
    data[at] ^= 0x55
    path.write_bytes(data)


@contextmanager
def encodings(monkeypatch: Any) -> Iterator[list[tuple[int, ...]]]:
    """The token ids of every call of Encoder.encode."""
    seen: list[tuple[int, ...]] = []
    encode = Encoder.encode

    def counted(self: Encoder, ids: Sequence[int], *others: Any) -> Any:
        seen.append(tuple(ids))
        return encode(self, ids, *others)

    with monkeypatch.context() as patch:
        patch.setattr(Encoder, "encode", counted)
        yield seen


def told(folder: Path, *talks: tuple[str, str, range], **options: Any) -> Rig:
    """A rig with lines of (user, session, numbers): a copy of one that is made once in a process."""
    shutil.copytree(_made(talks, tuple(sorted(options.items()))), folder)
    return Rig(folder, **options)


def filled(folder: Path, count: int = 8, **options: Any) -> Rig:
    """A rig with so many messages in two sessions by turns, a copy likewise."""
    return told(folder, *((USER, str(i % 2 + 1), range(i, i + 1)) for i in range(count)), **options)


@cache
def _made(talks: tuple[tuple[str, str, range], ...], options: tuple[tuple[str, Any], ...]) -> Path:
    folder = Path(_MADE.name) / str(next(_NUMBERS))
    with Rig(folder, **dict(options)) as rig:
        for user, session, numbers in talks:
            rig.say(*map(line, numbers), user=user, session=session, remember=False)
        for user in dict.fromkeys(user for user, _, _ in talks):
            rig.kv.remember(user=user)
    return folder


def with_config(**changes: Any) -> MemArt:
    """Other settings than the usual ones."""
    return replace(CONFIG, **changes)
