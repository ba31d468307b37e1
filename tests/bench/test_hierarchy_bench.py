"""The hierarchy view's benchmark on small made-up conversations: it measures the view itself."""

import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from zibaldone import InvalidInput, Memory, MissingExtra
from zibaldone.bench import engine, outcome
from zibaldone.bench.hierarchy import plot, structure
from zibaldone.bench.hierarchy.structure import RESTRUCTURING, Compared, HierarchyRow, Measuring, build
from zibaldone.bench.locomo import LoCoMoQuestions
from zibaldone.cli.bench import bench_app
from zibaldone.errors import InvalidImport
from zibaldone.models.static import shared_static_embedder
from zibaldone.views.hierarchy import XMemory
from zibaldone.views.hierarchy.calibration import calibrate

THINGS = ("cello", "greyhound", "kayak", "telescope", "sourdough", "violin", "orchid", "motorbike")
SAID = (
    "I bought a new {thing} in Graz and it cost me {n} euros.",
    "My {thing} is the best {thing} I have had in {n} years.",
    "Last week I took the {thing} to my sister in Linz, {n} hours by train.",
    "We talked about the {thing} club, it has {n} members now.",
)
STATIC = shared_static_embedder()


def conversation(user, sessions=10, turns=16):
    """A sample in LoCoMo's format: things come back in later sessions, a question per session."""
    said = {"speaker_a": "Ann", "speaker_b": "Ben"}
    asked = []
    for session in range(1, sessions + 1):
        said[f"session_{session}_date_time"] = f"1:00 pm on {session} May, 2023"
        said[f"session_{session}"] = [
            {
                "speaker": ("Ann", "Ben")[turn % 2],
                "dia_id": f"D{session}:{turn}",
                "text": SAID[turn % 4].format(thing=THINGS[(session + turn // 4) % 8], n=10 * session + turn),
            }
            for turn in range(1, turns + 1)
        ]
        thing, number = THINGS[(session + 1) % 8], 10 * session + 4
        asked.append(
            {
                "question": f"Which {thing} did Ann buy in Graz for {number} euros?",
                "answer": thing,
                "evidence": [f"D{session}:4"],
                "category": 4,
            }
        )
    return {"sample_id": user, "conversation": said, "qa": asked}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A file of two conversations."""
    path = tmp_path_factory.mktemp("data") / "talks.json"
    path.write_text(json.dumps([conversation("Otto"), conversation("Bea", sessions=6)]), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def built(path):
    """The longer conversation's hierarchy."""
    return build(LoCoMoQuestions(path).messages("Otto"), "Otto", STATIC, STATIC, calibrate(STATIC))


@pytest.fixture
def measuring(path, tools):
    """Of both conversations, at 300 tokens."""
    return Measuring(LoCoMoQuestions(path), tools, 300, lambda *_: None)


@pytest.fixture
def run(path):
    """Invoke the command on the file."""
    return lambda *options, of=path: CliRunner().invoke(bench_app, ["hierarchy", str(of), *options])


@pytest.mark.exhaustive
def test_what_is_restructured(measuring):
    """Nothing is reassigned where nothing may be; with splits and merges something is."""
    rows = {row.setting: row for row in measuring.rows(RESTRUCTURING)}
    assert list(rows) == ["w/o merge & split", "w/o split", "w/o merge", "full"]
    assert rows["w/o merge & split"].reassigned == 0
    assert rows["full"].reassigned > 0
    assert rows["full"].themes < rows["w/o merge"].themes


def test_a_row_adds_up(measuring):
    """Sizes are of all themes and hold all semantics, f goes through the quarters, questions are asked."""
    (row,) = measuring.rows([Compared("full")])
    assert isinstance(row, HierarchyRow)
    assert sum(row.sizes) == row.themes
    assert sum(size * themes for size, themes in enumerate(row.sizes, 1)) == row.semantics
    assert row.largest == len(row.sizes) <= row.cap == 12
    assert row.per_theme == row.semantics / row.themes
    assert len(row.f_over_time) == 4
    assert row.f_over_time[-1] == pytest.approx(row.f)
    assert row.recall.questions == len(measuring.examples) == 16
    assert 0 < row.recall.value <= 1
    assert 0 < row.tokens <= 300


@pytest.mark.exhaustive
def test_a_smaller_cap_makes_smaller_themes(measuring):
    """Each cap holds."""
    small, large = measuring.rows(structure.capped([3, 9]))
    assert (small.setting, large.setting) == ("cap 3", "cap 9")
    assert small.largest <= 3 < large.largest <= 9
    assert small.themes > large.themes


def test_a_cap_that_cannot_be():
    """It is refused as the view refuses it."""
    with pytest.raises(InvalidInput, match="theme_cap"):
        structure.capped([12, 1])


def test_what_two_tables_share_is_measured_once(measuring, monkeypatch):
    """The full view under another name is the same row."""
    (full,) = measuring.rows([Compared("full")])
    monkeypatch.setattr(structure, "build", None)
    (capped,) = measuring.rows(structure.capped([12]))
    assert capped == structure.replace(full, setting="cap 12")


def test_it_is_the_hierarchy_of_a_memory(built, path, tmp_path):
    """A maintenance makes the same themes of the same semantics."""
    with Memory(tmp_path / "memory", embedder=STATIC, chat=None, hierarchy=XMemory()) as memory:
        memory.add(LoCoMoQuestions(path).messages("Otto"), user="Otto")
        memory.maintain(views=["hierarchy"])
        kept = {theme.id: [one.text for one in theme.semantics] for theme in memory.themes(user="Otto")}
    semantics = built.structure.semantics
    themes = built.structure.themes.themes.items()
    assert kept == {theme: [semantics[one].text for one in members] for theme, members in themes}


def test_questions_go_to_the_same_hierarchy(measuring, monkeypatch):
    """The memory that is asked has the setting's themes."""
    themes = []

    class Watched(Memory):
        def close(self):
            themes.append(sum(len(self.themes(user=user)) for user in self.users()))
            super().close()

    monkeypatch.setattr(engine, "Memory", Watched)
    (row,) = measuring.rows(structure.capped([3]))
    assert themes == [row.themes]


def test_neighbours_stay_neighbours():
    """The map is the same twice, and most points lie beside one of their own group."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(6), 12)
    rows = rng.normal(size=(6, 32))[group] + 0.4 * rng.normal(size=(72, 32))
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    points, how = plot.projected(rows)
    assert how == "t-SNE"
    assert np.array_equal(plot.projected(rows)[0], points)
    apart = np.linalg.norm(points[:, None] - points[None], axis=2)
    np.fill_diagonal(apart, np.inf)
    assert (group[apart.argmin(axis=1)] == group).mean() > 0.9


@pytest.mark.parametrize("few", [2, 5])
def test_few_semantics_are_projected_too(few):
    """By principal components, whatever their number."""
    rows = np.eye(few, 8, dtype=np.float32)
    points, how = plot.projected(rows)
    assert points.shape == (few, 2)
    assert np.isfinite(points).all()
    assert how == "principal components"


@pytest.mark.exhaustive
def test_the_command(run, tmp_path, write):
    """It prints every part, and writes the map and the figures."""
    small = write([conversation("Otto", sessions=4, turns=12), conversation("Bea", sessions=3, turns=12)])
    image, figures = tmp_path / "map.png", tmp_path / "figures.json"
    done = run("--sizes", "100", "--caps", "4,12", "--plot", str(image), "--output", str(figures), of=small)
    assert done.exit_code == 0, done.output
    for word in ("w/o merge & split", "cap 4", "one more semantic"):
        assert word in done.output
    assert re.search(r"w/o merge & split.* 0\.0%", done.output)
    assert image.read_bytes().startswith(b"\x89PNG")
    report = json.loads(figures.read_text(encoding="utf-8"))
    assert (report["conversations"], report["questions"], report["budget_tokens"]) == (2, 7, 1000)
    assert len(report["structure"]) == 4
    assert report["cap"][0]["thresholds"]["attach"] > 0


def test_parts_alone(run):
    """Only what is named is measured and printed."""
    done = run("--only", "cap", "--caps", "5", "--budget", "200")
    assert done.exit_code == 0, done.output
    assert "cap 5" in done.output
    assert "at 200 tokens" in done.output
    assert "w/o split" not in done.output
    assert "one more semantic" not in done.output


def test_an_unknown_part(run):
    """The error names those that there are."""
    done = run("--only", "structure,themes")
    assert isinstance(done.exception, InvalidInput)
    assert "'themes'" in str(done.exception)
    assert "speed" in str(done.exception)


def test_a_file_that_is_none(run, tmp_path):
    """The importer's error comes through."""
    bad = tmp_path / "bad.json"
    bad.write_text('{"a": 1}', encoding="utf-8")
    assert isinstance(run(of=bad).exception, InvalidImport)


def test_without_matplotlib(run, tmp_path, monkeypatch):
    """The error names the extra, before anything is measured."""
    monkeypatch.setattr(outcome, "find_spec", lambda _: None)
    monkeypatch.setattr(structure, "build", None)
    done = run("--plot", str(tmp_path / "x.png"))
    assert isinstance(done.exception, MissingExtra)
    assert "zibaldone[plot]" in str(done.exception)
