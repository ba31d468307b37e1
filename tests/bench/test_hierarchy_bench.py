"""The hierarchy view's benchmark on small made-up conversations: it measures the view itself."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from zibaldone import InvalidInput, Memory, MissingExtra
from zibaldone.bench import outcome
from zibaldone.bench.hierarchy import plot, structure
from zibaldone.bench.hierarchy.structure import build
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
def run(path):
    """Invoke the command on the file."""
    return lambda *options, of=path: CliRunner().invoke(bench_app, ["hierarchy", str(of), *options])


def test_rows_add_up(path, tools):
    """Sizes are of all themes and hold all semantics, no theme is above its cap, and like stands by like."""
    data = LoCoMoQuestions(path)
    small, large = structure.rows(data, tools, [3, 9], lambda *_: None)
    for row in (small, large):
        assert sum(row.sizes) == row.themes
        assert sum(size * themes for size, themes in enumerate(row.sizes, 1)) == row.semantics
        assert row.largest == len(row.sizes)
        assert row.likeness > row.likeness_of_any == small.likeness_of_any
    assert small.largest <= 3 < large.largest <= 9
    assert small.themes > large.themes


def test_it_is_the_hierarchy_of_a_memory(built, path, tmp_path):
    """A maintenance makes the same themes of the same semantics."""
    with Memory(tmp_path / "memory", embedder=STATIC, chat=None) as memory:
        memory.add(LoCoMoQuestions(path).messages("Otto"), user="Otto")
        memory.maintain(views=["hierarchy"])
        kept = {theme.id: [one.text for one in theme.semantics] for theme in memory.themes(user="Otto")}
    built.structure.arrange(XMemory().theme_cap, built.together)
    semantics = built.structure.semantics
    themes = built.structure.themes().items()
    assert kept == {theme: [semantics[one].text for one in members] for theme, members in themes}


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
    for word in ("themes by their cap", "time to make all themes"):
        assert word in done.output
    assert image.read_bytes().startswith(b"\x89PNG")
    report = json.loads(figures.read_text(encoding="utf-8"))
    assert report["conversations"] == 2
    assert [row["cap"] for row in report["themes"]] == [4, 12]
    assert report["speed"][0]["semantics"] == 100


def test_parts_alone(run):
    """Only what is named is measured and printed."""
    done = run("--only", "speed", "--sizes", "50")
    assert done.exit_code == 0, done.output
    assert "time to make all themes" in done.output
    assert "themes by their cap" not in done.output


def test_a_cap_that_cannot_be(run):
    """It is refused as the view refuses it."""
    assert "theme_cap" in str(run("--caps", "12,1").exception)


def test_an_unknown_part(run):
    """The error names those that there are."""
    done = run("--only", "structure")
    assert isinstance(done.exception, InvalidInput)
    assert "'structure'" in str(done.exception)
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
