"""The stream of numbered facts: what overrides what, what is asked, and that nothing is ambiguous."""

import re
from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zibaldone.bench.consolidation.facts import SIZES_TOKENS, make_stream
from zibaldone.bench.consolidation.names import KINDS, PLAIN_VALUES
from zibaldone.bench.consolidation.relations import RELATIONS
from zibaldone.errors import InvalidInput
from zibaldone.models.static import shared_static_embedder
from zibaldone.text.words import words

TOKENIZER = shared_static_embedder()
SEEDS = st.integers(0, 10_000)
some_streams = settings(max_examples=15, deadline=None)


def stream_of(seed=0, tokens=6000, questions=30):
    return make_stream(seed, tokens, TOKENIZER, questions)


def padded(text):
    return f" {' '.join(words(text))} "


def groups_of(stream):
    groups = defaultdict(list)
    for fact in stream.facts:
        groups[fact.subject, fact.relation].append(fact)
    return groups


def test_the_same_seed_gives_the_same_stream():
    """Facts, order, wording and questions."""
    assert stream_of(3) == stream_of(3)


def test_another_seed_gives_other_names_and_other_questions():
    """No name of one stream is in the other."""
    one, other = stream_of(1), stream_of(2)
    assert not {fact.subject for fact in one.facts} & {fact.subject for fact in other.facts}
    assert {q.text for q in one.single_hop}.isdisjoint(q.text for q in other.single_hop)


@pytest.mark.parametrize(
    "size", [SIZES_TOKENS[0], *(pytest.param(n, marks=pytest.mark.exhaustive) for n in SIZES_TOKENS[1:])]
)
def test_streams_have_the_tokens_that_were_asked_for(size):
    """Within 5 %, counted on the text itself."""
    stream = stream_of(1, size)
    text = "\n".join(fact.line for fact in stream.facts)
    assert TOKENIZER.count([text])[0] == pytest.approx(size, rel=0.05)
    assert stream.tokens == pytest.approx(size, rel=0.05)


def test_a_stream_without_room_for_questions_is_refused():
    """With the size that was given."""
    with pytest.raises(InvalidInput, match="10 tokens"):
        stream_of(tokens=10)


def test_there_are_many_relations_each_in_several_wordings():
    """At least 25, named once, asked in at least two ways."""
    assert len({relation.name for relation in RELATIONS}) == len(RELATIONS) >= 25
    for relation in RELATIONS:
        assert len(set(relation.says)) >= 2
        assert len(set(relation.asks)) >= 2
        assert len(set(relation.nouns)) >= 2
    assert sum(len(relation.says) for relation in RELATIONS) >= 3 * len(RELATIONS)


def test_wordings_have_their_places_and_no_others():
    """A sentence has both, a question and a description only the subject."""
    for relation in RELATIONS:
        for text in relation.says:
            assert sorted(re.findall(r"{\w*}", text)) == ["{s}", "{v}"]
        for text in (*relation.asks, *relation.nouns):
            assert re.findall(r"{\w*}", text) == ["{s}"]
        assert relation.subject in KINDS
        assert relation.value in {*KINDS, *PLAIN_VALUES}


def test_no_two_relations_share_a_wording():
    """Else a sentence would not say which of them it states."""
    for field in ("says", "asks", "nouns"):
        kinds = [(r.subject, text) for r in RELATIONS for text in getattr(r, field)]
        assert len(kinds) == len(set(kinds))


def test_plain_values_are_no_words_of_the_wordings():
    """Nor parts of each other."""
    values = [word for listed in PLAIN_VALUES.values() for value in listed for word in words(value)]
    assert len(values) == len(set(values))
    wordings = {
        word
        for r in RELATIONS
        for text in (*r.says, *r.asks, *r.nouns)
        for word in words(text)
        if len(word) > 1
    }
    for value in values:
        assert value not in wordings
        assert not any(value in other for other in values if other != value)


@some_streams
@given(SEEDS)
def test_what_overrides_comes_later(seed):
    """It names the fact just before it of the same subject and relation, and gives another value."""
    stream = stream_of(seed)
    assert [fact.number for fact in stream.facts] == list(range(len(stream.facts)))
    for versions in groups_of(stream).values():
        assert [fact.overrides for fact in versions] == [None, *(fact.number for fact in versions[:-1])]
        assert len({fact.value for fact in versions}) == len(versions)


@some_streams
@given(SEEDS)
def test_questions_ask_for_what_holds_in_the_end(seed):
    """Each link's current fact is the last of its subject and relation, and the others are superseded."""
    stream = stream_of(seed)
    groups = groups_of(stream)
    for question in (*stream.single_hop, *stream.multi_hop):
        for link in question.links:
            versions = groups[link.current.subject, link.current.relation]
            assert [*link.superseded, link.current] == versions


@some_streams
@given(SEEDS)
def test_chains_go_from_value_to_subject(seed):
    """Through two to four links, at least one of them overridden, never through a name twice."""
    stream = stream_of(seed)
    assert {question.hops for question in stream.multi_hop} == {2, 3, 4}
    assert {question.hops for question in stream.single_hop} == {1}
    for question in (*stream.single_hop, *stream.multi_hop):
        facts = [link.current for link in question.links]
        assert [fact.value for fact in facts[:-1]] == [fact.subject for fact in facts[1:]]
        assert question.answer == facts[-1].value
        assert any(link.superseded for link in question.links)
        assert len({facts[0].subject, *(fact.value for fact in facts)}) == len(facts) + 1


@some_streams
@given(SEEDS)
def test_a_question_names_its_first_subject_alone(seed):
    """Neither a bridge nor the answer."""
    for question in stream_of(seed).multi_hop:
        first, *bridges = [link.current.subject for link in question.links]
        asked = padded(question.text)
        assert padded(first) in asked
        assert not any(padded(name) in asked for name in [*bridges, question.answer])


@some_streams
@given(SEEDS)
def test_no_name_is_a_part_of_another(seed):
    """Subjects and values, as words; so that finding one is not finding the other."""
    stream = stream_of(seed)
    names = sorted({name for fact in stream.facts for name in (fact.subject, fact.value)})
    text = padded("\n".join(names))
    for name in names:
        assert text.count(padded(name)) == 1


@some_streams
@given(SEEDS)
def test_a_subject_and_a_value_tell_the_fact(seed):
    """No two facts share both their names, in either role, and a sentence holds no third name."""
    stream = stream_of(seed)
    pairs = [frozenset((fact.subject, fact.value)) for fact in stream.facts]
    assert len(pairs) == len(set(pairs))
    names = {name for fact in stream.facts for name in (fact.subject, fact.value)}
    for fact in stream.facts[:60]:
        assert {name for name in names if padded(name) in padded(fact.text)} == {fact.subject, fact.value}


@some_streams
@given(SEEDS)
def test_what_was_superseded_never_holds_otherwise_for_the_same_subject(seed):
    """A value that is obsolete for one relation is not the current one of another."""
    groups = groups_of(stream_of(seed))
    current = {(subject, versions[-1].value) for (subject, _), versions in groups.items()}
    for (subject, _), versions in groups.items():
        assert all((subject, fact.value) not in current for fact in versions[:-1])


def test_chunks_hold_whole_lines_in_order_within_their_limit():
    """Together they are the stream."""
    stream = stream_of(1, 10_000)
    messages = stream.messages(TOKENIZER)
    contents = [message.content for message in messages]
    assert "\n".join(contents).split("\n") == [fact.line for fact in stream.facts]
    assert len(contents) == 3
    assert all(3900 <= count <= 4096 for count in TOKENIZER.count(contents[:-1]))


def test_a_message_per_fact_when_asked():
    """In order of time, numbered as in the chunks."""
    stream = stream_of()
    messages = stream.messages(TOKENIZER, "facts")
    assert [message.content for message in messages] == [fact.line for fact in stream.facts]
    assert [message.time for message in messages] == sorted({message.time for message in messages})


def test_another_way_of_streaming_is_refused():
    """With the two that there are."""
    with pytest.raises(InvalidInput, match="'chunks' or 'facts'"):
        stream_of().messages(TOKENIZER, "lines")


def templates_of(stream):
    return {
        key: {fact.text.replace(fact.value, "") for fact in versions}
        for key, versions in groups_of(stream).items()
    }


def test_an_override_has_its_own_wording_unless_the_same_is_asked_for():
    """Then it repeats the sentence but for its value."""
    mixed = templates_of(stream_of())
    same = templates_of(make_stream(0, 6000, TOKENIZER, 30, "same"))
    assert max(map(len, mixed.values())) == 3
    assert max(map(len, same.values())) == 1


def test_other_wordings_are_refused():
    """With the two that there are."""
    with pytest.raises(InvalidInput, match="'mixed' or 'same'"):
        make_stream(0, 6000, TOKENIZER, 30, "other")
