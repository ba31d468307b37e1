"""The registry: every benchmark has a command, its options are typed, and the pages cite what there is."""

import importlib
import json
import re
from dataclasses import fields
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from zibaldone.bench import leaderboard, outcome
from zibaldone.bench.registry import BENCHMARKS
from zibaldone.cli.app import app
from zibaldone.cli.bench import bench_app
from zibaldone.errors import InvalidInput, MissingExtra

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
CITED = sorted(
    {
        (command[1], tuple(re.findall(r"(?<![\w-])--[a-z-]+", command[0])))
        for page in PAGES
        for command in re.finditer(r"`(?:zibaldone )?bench ([a-z-]+)[^`]*`", page.read_text(encoding="utf-8"))
    }
)


def options_of(name):
    """The options of a command, by the names that are typed."""
    command = get_command(bench_app).commands[name]
    return {option for parameter in command.params for option in parameter.opts}


@pytest.mark.parametrize("benchmark", BENCHMARKS, ids=lambda benchmark: benchmark.name)
def test_a_benchmark_names_a_function_that_exists(benchmark):
    """It is imported only when it is asked for, so a name could else go stale unseen."""
    module, _, function = benchmark.runs.partition(":")
    assert callable(getattr(importlib.import_module(f"zibaldone.bench.{module}"), function))


@pytest.mark.parametrize("benchmark", BENCHMARKS, ids=lambda benchmark: benchmark.name)
def test_every_field_of_the_options_is_an_option(benchmark):
    """Beside those that every benchmark has."""
    names = {field.name for field in fields(benchmark.options) if not field.metadata.get("argument")}
    assert {"--" + name.replace("_", "-") for name in names} | {"--json", "--output"} <= options_of(
        benchmark.name
    )


def commands(group, path=()):
    """Every command below a group, by the words that are typed."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        yield (*path, name), command


def test_json_is_a_flag_everywhere():
    """No command takes a file by it: `--output` and the shell write files."""
    options = {
        path: option
        for path, command in [*commands(get_command(app)), *commands(get_command(bench_app), ("bench",))]
        for option in command.params
        if "--json" in option.opts
    }
    assert ("recall",) in options
    assert ("bench", "felt") in options
    assert [path for path, option in options.items() if not getattr(option, "is_flag", False)] == []
    assert len({option.help for option in options.values()}) == 1


def test_json_prints_the_figures_and_nothing_else(locomo_path, tmp_path):
    """What is written to a file is the same."""
    out = tmp_path / "out.json"
    arguments = ["locomo", str(locomo_path), "--budget", "30", "--systems", "bm25", "--json", "--output"]
    done = CliRunner().invoke(bench_app, [*arguments, str(out)], catch_exceptions=False)
    assert json.loads(done.stdout)["benchmark"] == "locomo"
    assert out.read_text(encoding="utf-8") == done.stdout
    assert "written: " in done.stderr


def test_a_file_that_cannot_be_written_is_named(locomo_path, tmp_path):
    """And so is the option."""
    arguments = ["locomo", str(locomo_path), "--budget", "30", "--systems", "bm25", "--output", str(tmp_path)]
    with pytest.raises(InvalidInput, match="--output"):
        CliRunner().invoke(bench_app, arguments, catch_exceptions=False)


@pytest.mark.parametrize(("name", "options"), CITED)
def test_a_cited_command_can_be_typed(name, options):
    """Every `bench` command in README and docs is there, with the options that it is cited with."""
    assert set(options) <= options_of(name)


def test_pages_cite_benchmarks():
    """The pattern finds what it is meant to hold."""
    assert len(CITED) > 10


@pytest.mark.parametrize(
    ("option", "given", "fix"),
    [
        ("--block-kib", "0", "numbers above 0"),
        ("--block-kib", "a", "whole numbers"),
        ("--updates", "a", "0.3,0.5"),
    ],
)
def test_a_bad_list_names_its_option_and_the_fix(locomo_path, option, given, fix):
    """Before anything is loaded."""
    done = CliRunner().invoke(bench_app, ["locality", str(locomo_path), option, given])
    assert isinstance(done.exception, InvalidInput)
    assert option in str(done.exception)
    assert fix in str(done.exception)


def test_without_torch(monkeypatch):
    """The error names the extra."""
    monkeypatch.setattr(outcome, "find_spec", lambda _: None)
    done = CliRunner().invoke(bench_app, ["kv-speed"])
    assert isinstance(done.exception, MissingExtra)
    assert "zibaldone[kv]" in str(done.exception)


@pytest.mark.wide
def test_the_leaderboard_has_every_view_at_every_budget(locomo_path, haystack_path, monkeypatch, tmp_path):
    """Two data sets and two streams, in the tables and in the file, which says what made it."""
    monkeypatch.setattr(leaderboard, "STREAM_TOKENS", 1500)
    monkeypatch.setattr(leaderboard, "STREAM_QUESTIONS", 2)
    out = tmp_path / "rows.json"
    done = CliRunner().invoke(
        bench_app,
        ["leaderboard", str(locomo_path), "--longmemeval", str(haystack_path), "--output", str(out)],
    )
    assert done.exit_code == 0, done.output
    written = json.loads(out.read_text(encoding="utf-8"))
    rows = {(row["benchmark"], row["system"], row["budget_tokens"]) for row in written["recalled"]}
    assert rows == {
        (data, system, budget)
        for data in ("locomo", "longmemeval")
        for system in leaderboard.SYSTEMS
        for budget in leaderboard.BUDGETS_TOKENS
    }
    assert {(row["wordings"], row["system"]) for row in written["updated"]} == {
        (wordings, system) for wordings in leaderboard.WORDINGS for system in leaderboard.UPDATED_SYSTEMS
    }
    assert "version" in written["provenance"]
    assert "updated facts" in done.output
