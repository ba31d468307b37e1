"""Small made-up files in the shape of the benchmarks, and the tools that systems share."""

import copy
import json
from datetime import UTC, datetime, timedelta

import pytest

from zibaldone.bench.base import Equipment
from zibaldone.core import Message
from zibaldone.models.static import shared_static_embedder

LOCOMO = [
    {
        "sample_id": "conv-30",
        "conversation": {
            "speaker_a": "Ann",
            "speaker_b": "Ben",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Ann", "dia_id": "D1:1", "text": "I adopted a greyhound called Comet."},
                {
                    "speaker": "Ben",
                    "dia_id": "D1:2",
                    "text": "Lovely! My sister plays the cello in Graz.",
                    "blip_caption": "a cello",
                    "query": "SECRET",
                },
            ],
            "session_2_date_time": "9:00 am on 1 June, 2023",
            "session_2": [
                {"speaker": "Ann", "dia_id": "D2:1", "text": "We flew to Lisbon and ate custard tarts."},
                {"speaker": "Ben", "dia_id": "D2:2", "text": "I quit my job at the brewery."},
            ],
            "session_3_date_time": "9:00 am on 2 June, 2023",
        },
        "qa": [
            {"question": "What is Ann's dog called?", "answer": "Comet", "evidence": ["D1:1"], "category": 4},
            {
                "question": "Who ate tarts and who quit?",
                "answer": "Ann, Ben",
                "evidence": ["D:2:1; D2:02", "D9:9", "D"],
                "category": 1,
            },
            {"question": "When did Ben quit?", "answer": 2023, "evidence": [], "category": 2},
            {"question": "What is Ben's cat called?", "adversarial_answer": "Comet", "category": 5},
        ],
    },
    {
        "sample_id": "mine",
        "conversation": {
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Cleo", "dia_id": "D1:1", "text": "My telescope shows the rings of Saturn."},
                {"speaker": "Dan", "dia_id": "D1:2", "text": "I collect fountain pens from Osaka."},
            ],
        },
        "qa": [
            {
                "question": "What does Dan collect?",
                "answer": "Fountain pens",
                "evidence": ["D1:2"],
                "category": 4,
            }
        ],
    },
]
HAYSTACK = {
    "question_id": "h1",
    "question_type": "knowledge-update",
    "questions": ["Where do I live now?", "What is the capital of Austria?"],
    "answers": ["Graz", "Vienna"],
    "answer_session_ids": [["s1", "s2"], ["s3"]],
    "question_date": "2023/12/18 (Mon) 04:17",
    "haystack_dates": ["2023/07/12 (Wed) 10:14", "2023/08/02 (Wed) 05:58", "2023/08/11 (Fri) 00:01"],
    "haystack_session_ids": ["s1", "s2", "s3"],
    "haystack_sessions": [
        [
            {"role": "user", "content": "I live in Linz.", "has_answer": True},
            {"role": "assistant", "content": "Noted, Linz it is."},
        ],
        [{"role": "user", "content": "We moved to Graz last week.", "has_answer": True}],
        [{"role": "assistant", "content": "The capital of Austria is Vienna."}],
    ],
}


@pytest.fixture
def write(tmp_path):
    """Write a value as a JSON file and give its path."""

    def write(value, name="data.json"):
        path = tmp_path / name
        path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
        return path

    return write


@pytest.fixture
def samples():
    return copy.deepcopy(LOCOMO)


@pytest.fixture
def haystack():
    return copy.deepcopy(HAYSTACK)


@pytest.fixture
def locomo_path(write, samples):
    return write(samples, "talks.json")


@pytest.fixture
def haystack_path(write, haystack):
    return write([haystack], "haystacks.json")


@pytest.fixture
def tools(tmp_path):
    embedder = shared_static_embedder()
    folder = tmp_path / "systems"
    folder.mkdir()
    return Equipment(embedder, embedder, folder, floor=0.0)


@pytest.fixture
def talk():
    """Sixty messages of two people over six sessions, one of them about a greyhound."""
    topics = ("cello", "harbour", "soup", "ladder", "winter", "museum")
    start = datetime(2024, 3, 1, 9, tzinfo=UTC)
    messages = [
        Message(
            content=f"The {topics[i // 10]} number {i} was fine, and the tea was warm as well.",
            name=("Ann", "Ben")[i % 2],
            time=start + timedelta(days=i // 10, minutes=i),
            session=f"s{i // 10}",
            seq=i + 1,
        )
        for i in range(60)
    ]
    messages[23] = Message(
        "My greyhound won a race in Linz.", name="Ben", time=messages[23].time, session="s2", seq=24
    )
    return messages
