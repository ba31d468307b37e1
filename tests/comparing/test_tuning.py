"""Weights tuned on a user's own log: what is kept, whom it serves, and what takes it back."""

import json
from dataclasses import replace

import pytest

from zibaldone import InvalidInput, Memory
from zibaldone.comparing import tuning
from zibaldone.comparing.tuning import QuestionTried, blocks, chance_of, try_tuning
from zibaldone.search.ranker import DEFAULT_WEIGHTS, TalkWeights
from zibaldone.testing import HashEmbedder

PLANTS = (
    "tulip maple willow cactus fern orchid basil thyme clover poplar cedar juniper moss rowan laurel quince"
    " hazel alder birch linden aspen larch spruce hemlock"
).split()
TIGHT = (45,)  # tokens: room for one short turn, or for one answer


def talk(words=PLANTS):
    """Somebody asks, an assistant tells: what this user looks for later is what the assistant told."""
    for day, plant in enumerate(words, 1):
        when = {"session": plant, "time": f"2024-03-{day:02}T09:00:00Z"}
        yield {"role": "user", "content": f"What soil does a {plant} like, and how much water?", **when}
        yield {
            "role": "assistant",
            "content": f"Plant the {plant} in soil number {day}, and water it {day} times a week with care.",
            **when,
        }


def of_answers(path, words=PLANTS):
    """A question about each of the assistant's answers."""
    lines = [
        {"question": f"What soil does the {plant} like?", "evidence": [2 * place]}
        for place, plant in enumerate(words, 1)
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


@pytest.fixture
def memory(opened):
    """Ann's and Bob's, who said the same."""
    memory = opened(embedder=HashEmbedder())
    for user in ("ann", "bob"):
        memory.add(list(talk()), user=user)
    return memory


@pytest.fixture
def trial(memory, tmp_path):
    """Ann's."""
    return try_tuning(memory, "ann", of_answers(tmp_path / "q.jsonl"), budgets_tokens=TIGHT)


def cites(memory, user, plant="maple"):
    """What a recall with room for one answer cites, and whether it was ranked by tuned weights."""
    recalled = memory.recall(f"What soil does the {plant} like?", user=user, budget_tokens=TIGHT[0], floor=0)
    (trace,) = (view for view in recalled.trace.views if view.view == "messages")
    return [citation.seq for citation in recalled.citations], trace.tuned


def test_weights_are_kept_where_questions_that_they_have_not_seen_gain(memory, trial):
    """Recall takes them from the next question on, and says so; without them all is as before."""
    assert trial.is_better
    assert trial.shipped < 0.2
    assert trial.tuned > 0.8
    assert memory.tuning(user="ann") is None
    assert cites(memory, "ann") == ([3], False)
    memory.set_tuning(trial.as_tuning(), user="ann")
    assert cites(memory, "ann") == ([4], True)
    recalled = memory.recall("What soil does the maple like?", user="ann", budget_tokens=TIGHT[0], floor=0)
    assert recalled.why(4).endswith(", by weights tuned on this log.")
    assert memory.tuning(user="ann") == trial.as_tuning()
    memory.set_tuning(None, user="ann")
    assert cites(memory, "ann") == ([3], False)


def test_nobody_else_is_ranked_by_them(memory, trial):
    """Bob's log says the same, and his recall stays what it is to the last digit."""
    before = memory.recall("What soil does the maple like?", user="bob", budget_tokens=TIGHT[0])
    memory.set_tuning(trial.as_tuning(), user="ann")
    after = memory.recall("What soil does the maple like?", user="bob", budget_tokens=TIGHT[0])
    assert (after.text, after.evidence, after.trace.decisions) == (
        before.text,
        before.evidence,
        before.trace.decisions,
    )
    assert memory.tuning(user="bob") is None


def test_they_serve_the_vectors_that_they_were_fitted_with(memory, trial, opened):
    """Another embedder is ranked by the shipped weights."""
    memory.set_tuning(trial.as_tuning(), user="ann")
    other = opened(embedder=HashEmbedder(32))
    assert other.tuning(user="ann") is None
    assert not cites(other, "ann")[1]
    assert cites(memory, "ann")[1]


@pytest.mark.parametrize("selected", [{"seqs": [8]}, {"everything": True}, {"session": "fern"}])
def test_they_are_forgotten_with_what_they_were_fitted_on(memory, trial, selected):
    """A message that a question was about takes them along, and the receipt says so; verify agrees."""
    memory.set_tuning(trial.as_tuning(), user="ann")
    counted = {"tuned weights": 1}
    assert counts(memory.forget(user="ann", dry_run=True, **selected)) == counted
    assert counts(memory.stats(user="ann")) == counted
    receipt = memory.forget(user="ann", **selected)
    assert counts(receipt) == counted
    assert memory.tuning(user="ann") is None
    assert counts(memory.stats(user="ann")) == {}
    assert memory.verify(receipt).ok


def counts(of):
    """What it says of tuned weights."""
    views = [view for view in of.views if view.view == "messages"]
    return {c.kind: c.rows for view in views for c in view.counts if c.kind == "tuned weights"}


def test_what_no_question_was_about_leaves_them(memory, trial):
    """A question of the user's was no evidence."""
    memory.set_tuning(trial.as_tuning(), user="ann")
    memory.forget(user="ann", seqs=[7])
    assert memory.tuning(user="ann") == trial.as_tuning()


def test_weights_of_what_was_forgotten_meanwhile_are_refused(memory, trial):
    """Nobody ranks by what nobody may know."""
    memory.forget(user="ann", seqs=[8])
    with pytest.raises(InvalidInput, match="tune again"):
        memory.set_tuning(trial.as_tuning(), user="ann")


def test_weights_that_are_no_numbers_are_refused(trial):
    """They would rank nothing."""
    wild = replace(DEFAULT_WEIGHTS.with_assistant, dense=float("nan"))
    with pytest.raises(InvalidInput, match="numbers between"):
        replace(trial.as_tuning(), weights=TalkWeights.alike(wild))


def test_damaged_weights_are_reported_and_not_used(memory, trial):
    """Recall goes on with the shipped ones."""
    memory.set_tuning(trial.as_tuning(), user="ann")
    with memory._database.write() as connection:
        connection.exec_driver_sql("UPDATE tunings SET tuning = '{\"weights\": {}}'")
    assert cites(memory, "ann") == ([3], False)
    (fault,) = memory.check_integrity().faults
    assert "--untune" in fault


def test_weights_that_gain_by_chance_are_not_kept(trial):
    """Two sessions of many that are better by luck, or a gain that nobody notices."""
    nothing = [replace(question, tuned=question.shipped) for question in trial.questions]
    lucky = [replace(question, tuned=question.shipped + 0.5) for question in nothing[:2]]
    for questions in (nothing, lucky + nothing[2:]):
        by_chance = replace(trial, questions=tuple(questions), chance=chance_of(questions))
        assert not by_chance.is_better


def test_chance_counts_sessions_and_not_questions():
    """Ten questions of one session that gain are one gain."""
    together = [QuestionTried("own", "a", 0.0, 1.0)] * 10
    apart = [QuestionTried("own", str(place), 0.0, 1.0) for place in range(10)]
    assert chance_of(together) == 0.5
    assert chance_of(apart) == 0.5**10
    assert chance_of([QuestionTried("own", str(place), 0.0, 1.0) for place in range(40)]) < 0.001
    assert chance_of([QuestionTried("own", "a", 1.0, 0.0)]) == 1.0


def test_a_session_is_judged_by_weights_that_saw_none_of_it(memory, tmp_path, monkeypatch):
    """Blocks of about as many questions, each with whole sessions, in the order of the log."""
    talks, fitted_on = [], []
    read, fit = tuning.read_talk, tuning.fitted
    monkeypatch.setattr(tuning, "read_talk", lambda *given: talks.append(read(*given)) or talks[0])
    monkeypatch.setattr(tuning, "fitted", lambda talk, posed: fitted_on.append(posed) or fit(talk, posed))
    lines = [
        {"question": f"Which soil for {plant}? {again}", "evidence": [2 * place]}
        for place, plant in enumerate(PLANTS[:12], 1)
        for again in range(2)
    ]
    path = tmp_path / "twice.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    try_tuning(memory, "ann", path, budgets_tokens=TIGHT)

    def plants(posed):
        return {talks[0].index.units[question.relevant[0]].session for question in posed}

    sessions = [plants(block) for block in blocks(talks[0])]
    assert [len(some) for some in sessions] == [3, 2, 3, 2, 2]
    assert [plant for some in sessions for plant in sorted(some, key=PLANTS.index)] == PLANTS[:12]
    *apart, of_all = map(plants, fitted_on)
    assert apart == [set(PLANTS[:12]) - some for some in sessions]
    assert of_all == set(PLANTS[:12])


def test_too_few_questions(memory, tmp_path):
    """The error says how many are needed."""
    with pytest.raises(InvalidInput, match="3 questions with evidence are too few"):
        try_tuning(memory, "ann", of_answers(tmp_path / "q.jsonl", PLANTS[:3]))


def test_on_the_command_line(memory, tmp_path, run):
    """Kept, shown with a recall's reasons, and taken back."""
    path = of_answers(tmp_path / "q.jsonl")
    memory.close()
    env = {"ZIBALDONE_EMBEDDER": ""}
    ann = ("--user", "ann")
    code, out, _ = run("compare", "--tune", *ann, "--questions", str(path), "--budget", "45", env=env)
    assert code == 0
    assert "kept: your weights rank from now on" in out
    assert "by assistant" in out.replace("_", " ")
    shown = run("recall", "What soil does the maple like?", *ann, "--why")[1]
    assert "ranked by weights tuned on this log: messages" in shown
    assert "tuned weights" in run("stats", *ann)[1]
    assert "the shipped weights rank again" in run("compare", "--untune", *ann)[1]
    assert "nothing was tuned" in run("compare", "--untune", *ann)[1]
    code, _, said = run("compare", "--tune", *ann)  # on questions that it would make itself
    assert (code, "needs --questions FILE" in said) == (2, True)
    assert run("compare", "--untune", "--tune", *ann)[0] == 2


def test_in_postgresql(url, trial):
    """The same rows there: kept, used, walled, forgotten."""
    with Memory(url, embedder=HashEmbedder()) as memory:
        for user in ("ann", "bob"):
            memory.add(list(talk()), user=user)
        memory.set_tuning(trial.as_tuning(), user="ann")
        assert cites(memory, "ann") == ([4], True)
        assert cites(memory, "bob") == ([3], False)
        memory.forget(user="ann", seqs=[8])
        assert memory.tuning(user="ann") is None
