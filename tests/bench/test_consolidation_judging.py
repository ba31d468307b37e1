"""What counts as following an update, and the run that judges systems by it."""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from zibaldone.bench.base import RecalledContext
from zibaldone.bench.consolidation import run as running
from zibaldone.bench.consolidation.facts import ChainQuestion, FactLink, NumberedFact, make_stream
from zibaldone.bench.consolidation.judging import Judgement, judge
from zibaldone.bench.consolidation.run import MULTI, SINGLE, evaluate, make_rows, tables
from zibaldone.bench.outcome import to_json
from zibaldone.cli.bench import bench_app
from zibaldone.models.static import shared_static_embedder

OLD = NumberedFact(3, "Ann Bor", "home", "Graz", "Ann Bor lives in Graz.")
NEW = NumberedFact(8, "Ann Bor", "home", "Linz", "The home of Ann Bor is in Linz.", 3)
MAYOR = NumberedFact(5, "Linz", "mayor", "Cleo Dun", "Cleo Dun serves as mayor of Linz.")
ONE = ChainQuestion("s0", "Where does Ann Bor live?", (FactLink(NEW, (OLD,)),))
TWO = ChainQuestion(
    "m0", "Who is the mayor of the home of Ann Bor?", (FactLink(NEW, (OLD,)), FactLink(MAYOR, ()))
)


def struck(line, sentence):
    return "~~" in line or "superseded" in line


@pytest.fixture
def stream():
    return make_stream(0, 2000, shared_static_embedder(), 6)


def test_the_current_value_alone_is_correct():
    """In whatever other words."""
    assert judge(ONE, NEW.line) == Judgement(links=1, current=1, stale=0, marked=0)
    assert judge(ONE, "Thu 1 May\nuser: ann bor, now of LINZ!").correct


@pytest.mark.parametrize(
    "context",
    [
        "",
        OLD.line,
        "8. The home of Ben Bor is in Linz.",
        "8. The home of Ann Bor is in Linzer.",
        "The home of Ann Bor is in it.\nLinz is a city.",
        "Linz. Ann Bor was there.",
    ],
)
def test_a_context_without_the_current_fact_is_wrong(context):
    """Its value for somebody else, as a part of a word, or apart from the subject."""
    judgement = judge(ONE, context)
    assert not judgement.complete
    assert not judgement.correct


def test_a_superseded_value_beside_the_current_one_is_wrong():
    """Complete, but a reader may take either."""
    judgement = judge(ONE, f"{OLD.line}\n{NEW.line}")
    assert judgement == Judgement(links=1, current=1, stale=1, marked=0)
    assert judgement.complete
    assert not judgement.correct


def test_a_marked_superseded_value_is_right():
    """When the method says how it marks; without that a mark is nothing."""
    context = f"- ~~{OLD.text}~~\n- {NEW.text}"
    assert judge(ONE, context, struck) == Judgement(links=1, current=1, stale=0, marked=1)
    assert judge(ONE, context).stale == 1


def test_a_superseded_value_is_stale_where_it_is_unmarked_once():
    """Marked elsewhere or not."""
    assert judge(ONE, f"{OLD.text} (superseded)\n{OLD.text}\n{NEW.text}", struck).stale == 1


def test_a_current_value_that_is_marked_is_missing():
    """The method marked the wrong one."""
    judgement = judge(ONE, f"{OLD.text}\n{NEW.text} (superseded)", struck)
    assert (judgement.current, judgement.stale) == (0, 1)


def test_a_heading_names_the_subject_of_its_entries():
    """Until the next heading."""
    assert judge(ONE, "# Ann Bor\n- lives in Linz since May").correct
    assert not judge(ONE, "# Ann Bor\n- is tall\n## Ben Bor\n- lives in Linz").complete
    assert judge(ONE, "# Ann Bor\n- lives in Graz\n- lives in Linz").stale == 1


def test_a_heading_by_itself_states_nothing():
    """A catalogue of topics is no evidence."""
    assert judge(ONE, "# Ann Bor in Linz\n").current == 0


def test_sentences_of_one_line_stand_for_themselves():
    """As when passages of a message are joined."""
    assert judge(ONE, f"user: {OLD.line} {NEW.line}").stale == 1
    assert judge(ONE, "Ann Bor is tall. Ben lives in Linz.").current == 0


def test_a_chain_needs_every_link():
    """One of two is half of it."""
    assert judge(TWO, f"{NEW.line}\n{MAYOR.line}").correct
    assert judge(TWO, MAYOR.line) == Judgement(links=2, current=1, stale=0, marked=0)
    assert not judge(TWO, MAYOR.line).complete


def test_a_chain_is_stale_in_any_link():
    """Though all current ones are there."""
    judgement = judge(TWO, f"{OLD.line}\n{NEW.line}\n{MAYOR.line}")
    assert judgement.complete
    assert not judgement.correct


def test_the_whole_stream_states_every_link(stream):
    """And contradicts every one that was overridden."""
    text = "\n".join(fact.line for fact in stream.facts)
    for question in (*stream.single_hop, *stream.multi_hop):
        judgement = judge(question, text)
        assert judgement.current == question.hops
        assert judgement.stale == sum(bool(link.superseded) for link in question.links)


def test_a_stream_without_the_superseded_facts_is_right_for_every_question(stream):
    """And one without the current facts for none."""
    replaced = {fact.overrides for fact in stream.facts}
    rest = "\n".join(fact.line for fact in stream.facts if fact.number not in replaced)
    old = "\n".join(fact.line for fact in stream.facts if fact.number in replaced)
    for question in (*stream.single_hop, *stream.multi_hop):
        assert judge(question, rest).correct
        assert not judge(question, old).complete


class Everything:
    """Gives every fact for every question, the overridden ones too."""

    name = "messages"
    budgeted = False

    def load(self, user, messages):
        """Keep the lines."""
        self.lines = [line for message in messages for line in message.content.split("\n")]

    def recall(self, user, question, budget_tokens, now=None):
        """All of them."""
        text = "\n".join(self.lines)
        return RecalledContext(text, (), 7)

    def close(self):
        """Drop them."""
        self.lines = []


class Marker(Everything):
    """Says of all of them that they are superseded."""

    def marked(self, line, sentence):
        """Always."""
        return True


def test_a_system_that_marks_is_asked_how(stream, tools, monkeypatch):
    """One that does not is taken at its word."""
    monkeypatch.setattr(running, "make_system", lambda name, tools: {"a": Everything, "b": Marker}[name]())
    records, loads = evaluate(stream, ["a", "b"], [500, 1000], tools)
    asked = len(stream.single_hop) + len(stream.multi_hop)
    assert len(records) == 2 * asked  # a system without a budget is asked once
    assert all(one.judgement.complete and one.judgement.stale for one in records[:asked])
    assert all(not one.judgement.complete and one.judgement.marked for one in records[asked:])
    assert [load.facts for load in loads] == [len(stream.facts)] * 2


def test_rows_add_up_their_records(stream, tools):
    """One per kind of question, system and budget."""
    records, loads = evaluate(stream, ["messages", "full"], [200, 400], tools)
    rows = make_rows(records)
    shown = [(row.kind, row.system, row.budget_tokens) for row in rows]
    assert sorted(shown, key=str) == sorted(
        [
            *((kind, "messages", budget) for kind in (SINGLE, MULTI) for budget in (200, 400)),
            *((kind, "full", None) for kind in (SINGLE, MULTI)),
        ],
        key=str,
    )
    full = next(row for row in rows if row.system == "full" and row.kind == SINGLE)
    assert (full.complete.value, full.stale, full.correct.value) == (1.0, 1.0, 0.0)
    assert full.complete_by_hops == {1: 1.0, 2: None, 3: None, 4: None}
    assert json.loads(to_json(rows))[0]["questions"] == len(stream.single_hop)
    assert [table.row_count for table in tables(rows, loads)] == [3, 3, 2]


def test_shares_follow_the_judgements(stream, tools):
    """Half of the records turned wrong halve the share."""
    records, _ = evaluate(stream, ["full"], [200], tools)
    wrong = Judgement(links=1, current=0, stale=0, marked=0)
    single = [one for one in records if one.hops == 1]
    mixed = [replace(one, judgement=wrong) for one in single[::2]] + single[1::2]
    (row,) = make_rows(mixed)
    assert row.links == pytest.approx(len(single[1::2]) / len(single))
    assert row.complete.value == pytest.approx(len(single[1::2]) / len(single))


def test_the_command_prints_its_tables_and_writes_its_records(tmp_path):
    """Wordings, sizes and systems as given; people's own words first, and a figure for every seed."""
    path = tmp_path / "out.json"
    arguments = "consolidation --sizes 1500 --questions 3 --systems messages,bm25 --budget 300 --seeds 2"
    wordings = ["--wordings", "same,natural", "--output", str(path)]
    done = CliRunner().invoke(bench_app, [*arguments.split(), *wordings])
    assert done.exit_code == 0, done.output
    assert done.output.index("own words") < done.output.index("single-hop")
    written = json.loads(path.read_text(encoding="utf-8"))
    assert {row["kind"] for row in written["rows"]} == {SINGLE, MULTI}
    assert {record["system"] for record in written["records"]} == {"messages", "bm25"}
    assert written["seeds"] == [0, 1]
    (natural,) = written["natural"]  # bm25 has no way to keep a chat
    assert (natural["system"], natural["questions"]) == ("messages", 60)
    for row in (natural, *written["rows"]):
        assert len(row["of_seeds"]) == 2
        mean = row["right"] if row is natural else row["correct"]["value"]
        assert mean == pytest.approx(sum(row["of_seeds"]) / 2, abs=0.2)
