"""Small made-up files in the shape of the data sets."""

import json

import pytest

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


BEAM_CHAT = [
    {
        "batch_number": 1,
        "time_anchor": "March-15-2024",
        "turns": [
            [
                {"role": "user", "id": 0, "content": "I adopted a greyhound called Comet. ->-> 1,1"},
                {"role": "assistant", "id": 1, "content": "How lovely!"},
                {"role": "user", "id": 2, "content": "Comet runs on Sundays in Graz."},
                {"role": "assistant", "id": 3, "content": "Good for Comet."},
            ]
        ],
    }
]
BEAM_QUESTIONS = {
    "information_extraction": [
        {
            "question": "What is my dog called?",
            "answer": "Comet",
            "rubric": ["LLM response should state: the dog is Comet"],
            "source_chat_ids": {"first": [[0]], "then": "1"},
        },
        {"question": "Where is the cat?", "answer": "Nobody knows", "source_chat_ids": [99]},
    ],
    "abstention": [{"question": "What is my cat called?", "ideal_response": "unknown", "rubric": ["no cat"]}],
}
REALMEM = {
    "dialogues": [
        {
            "session_uuid": "a1",
            "current_time": "2025-12-15 (Monday)",
            "dialogue_turns": [
                {"speaker": "User", "is_query": False, "content": "My bread starter lives in the cellar."},
                {"speaker": "Assistant", "is_query": False, "content": "Feed it daily."},
            ],
            "extracted_memory": [
                {
                    "content": {"starter": "cellar"},
                    "source_turn": 7,
                    "source_content_snapshot": "My bread starter lives in the cellar.",
                },
                {"content": "lost", "source_turn": 0, "source_content_snapshot": "Never said."},
            ],
        },
        {
            "session_uuid": "b2",
            "current_time": "2025-12-17 (Wednesday)",
            "dialogue_turns": [
                {"speaker": "User", "content": "It smells of apples now."},
                {"speaker": "Assistant", "content": "That is good."},
                {"speaker": "User", "is_query": True, "content": "Where is my starter?"},
                {
                    "speaker": "Assistant",
                    "content": "In the cellar.",
                    "memory_used": [
                        {"session_uuid": "a1", "content": {"starter": "cellar"}},
                        {"session_uuid": "a1", "content": "lost"},
                        {"session_uuid": "b2", "content": "smell"},
                    ],
                },
                {"speaker": "User", "is_query": False, "content": "I had forgotten."},
            ],
            "extracted_memory": [{"content": "smell", "source_content_snapshot": "It smells of apples now."}],
        },
    ]
}
MAB = {
    "context": "Here is a list of facts:\n0. The chair of Acme is Ann.\n1. The chair of Acme is Bob.",
    "questions": ["Who chairs Acme?"],
    "answers": [["Bob", "Robert"]],
}


@pytest.fixture
def paths(tmp_path):
    """A path for each data set, with its data."""

    def write(value, name):
        path = tmp_path / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value), encoding="utf-8")
        return path

    write(BEAM_QUESTIONS, "beam/3/probing_questions.json")
    write(BEAM_CHAT, "beam/3/chat.json")
    return {
        "locomo": write(LOCOMO, "locomo/talks.json"),
        "longmemeval": write([HAYSTACK], "haystacks.json"),
        "realmem": write(REALMEM, "realmem/Ann.json").parent,
        "mab": write(MAB, "mab/sh.json"),
        "beam": tmp_path / "data" / "beam",
    }
