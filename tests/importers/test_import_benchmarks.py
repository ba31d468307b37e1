"""LoCoMo and LongMemEval files."""

import pytest

SAMPLE = {
    "qa": [{"question": "Who?", "evidence": ["D1:1"]}],
    "conversation": {
        "speaker_a": "Ann",
        "speaker_b": "Ben",
        "session_10_date_time": "12:05 am on 1 June, 2023",
        "session_10": [{"speaker": "Ann", "dia_id": "D10:1", "text": "Late again."}],
        "session_2_date_time": "1:56 pm on 8 May, 2023",
        "session_2": [
            {
                "speaker": "Ben",
                "dia_id": "D2:1",
                "text": "Look!",
                "blip_caption": "a dog",
                "query": "SECRET",
                "img_url": ["https://a.example"],
            },
            {"speaker": "Ann", "dia_id": "D2:2", "text": "", "blip_caption": "a cat"},
            {"speaker": "Ann", "text": " "},
        ],
        "session_11_date_time": "12:05 pm on 2 June, 2023",
    },
    "sample_id": "conv-1",
}
HAYSTACK = {
    "question_id": "q1",
    "question": "What?",
    "haystack_dates": ["2023/07/12 (Wed) 10:14", "2023/07/13 (Thu) 00:00", "2023/07/14 (Fri) 09:00"],
    "haystack_session_ids": ["s1", "s2", "s1"],
    "haystack_sessions": [
        [{"role": "user", "content": "Hi", "has_answer": True}, {"role": "assistant", "content": "Hello"}],
        [],
        [{"role": "user", "content": "Hi again", "has_answer": False}],
    ],
}


def test_locomo_messages(read):
    """Sessions in the order of their numbers, captions and names; the annotator's query is not read."""
    (found,) = read(SAMPLE)
    assert "SECRET" not in repr(found)
    assert [m.time.isoformat() for m in found.messages[1:]] == [
        "2023-05-08T13:56:00+00:00",
        "2023-06-01T00:05:00+00:00",
    ]
    assert found.user_hint == "conv-1"
    assert [(m.session, m.name, m.content) for m in found.messages] == [
        ("2", "Ben", "Look! [image: a dog]"),
        ("2", "Ann", "[image: a cat]"),
        ("10", "Ann", "Late again."),
    ]
    assert {message.role for message in found.messages} == {"user"}
    assert [message.id for message in found.messages] == [
        "locomo:conv-1:2:1",
        "locomo:conv-1:2:2",
        "locomo:conv-1:10:1",
    ]
    assert found.messages[0].metadata == {"dia_id": "D2:1"}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"session_2_date_time": "yesterday"}, "$[0].conversation.session_2_date_time: found 'yesterday'"),
        ({"session_2_date_time": "1:56 pm on 31 June, 2023"}, "expected a date such as"),
        ({"session_2_date_time": "1:56 pm on 3 Fructidor, 2023"}, "expected a date such as"),
        ({"session_2_date_time": None}, "session_2_date_time: found null"),
        ({"session_2": {"a": 1}}, "$[0].conversation.session_2: found an object with 'a', expected a list"),
        ({"session_2": [{"speaker": "Ann"}]}, "$[0].conversation.session_2[0]: found"),
        ({"session_2": [{"speaker": "", "text": "x"}]}, "$[0].conversation.session_2[0].speaker: found ''"),
    ],
)
def test_locomo_faults(fault, change, expected):
    """A bad file is refused with the JSON path of the fault."""
    assert expected in fault([{**SAMPLE, "conversation": {**SAMPLE["conversation"], **change}}])


def test_locomo_same_sample_twice(fault):
    """Two conversations of one id cannot be told apart."""
    assert "$[1].sample_id: found 'conv-1', which $[0].sample_id has as well" in fault([SAMPLE, SAMPLE])


def test_longmemeval_messages(read):
    """Each haystack session is a session, and a session that comes twice keeps its messages apart."""
    (found,) = read(HAYSTACK)
    assert found.user_hint == "q1"
    assert [(m.id, m.session, m.role, m.content, m.metadata) for m in found.messages] == [
        ("longmemeval:q1:s1:1", "s1", "user", "Hi", {"has_answer": True}),
        ("longmemeval:q1:s1:2", "s1", "assistant", "Hello", {}),
        ("longmemeval:q1:s1#2:1", "s1", "user", "Hi again", {"has_answer": False}),
    ]
    assert found.messages[0].time.isoformat() == "2023-07-12T10:14:00+00:00"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (
            {"haystack_dates": ["2023/07/12 (Wed) 10:14"]},
            "$[0].haystack_dates: found a list of 1, expected a list of 3",
        ),
        ({"haystack_dates": ["2023/02/30 10:14"] * 3}, "$[0].haystack_dates[0]: found '2023/02/30 10:14'"),
        ({"haystack_dates": ["soon"] * 3}, "$[0].haystack_dates[0]: found 'soon'"),
        ({"haystack_session_ids": None}, "$[0].haystack_session_ids: found null"),
        ({"haystack_sessions": [[{"role": "user"}], [], []]}, "$[0].haystack_sessions[0][0]: found"),
    ],
)
def test_longmemeval_faults(fault, change, expected):
    """A bad file is refused with the JSON path of the fault."""
    assert expected in fault([{**HAYSTACK, **change}])
