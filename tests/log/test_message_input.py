"""The border: whatever a caller gives is stored as it was meant, or refused by a typed error."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from zibaldone import InvalidInput, InvalidMessage, Message
from zibaldone.core.validation import to_time
from zibaldone.log.message_input import to_messages


def one(message, session=None):
    """The message as it would be stored."""
    return to_messages(message, session=session)[0]


DEEP = []
for _ in range(100_000):
    DEEP = [DEEP]


class Broken:
    """Nothing can be learned of it."""

    def __repr__(self):
        raise RuntimeError("no repr")


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        ("hi", "hi"),
        ([{"type": "text", "text": "a "}, {"type": "input_text", "text": "b"}], "a \nb"),
        (["a", {"type": "output_text", "text": "b"}], "a\nb"),
        ([{"type": "refusal", "refusal": "no"}], "no"),
        (
            [{"type": "image_url", "image_url": {"url": "https://x.example/a.png"}}],
            "[image: https://x.example/a.png]",
        ),
        ([{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}], "[image]"),
        (
            [{"type": "input_image", "input_image": "https://x.example/b.png"}],
            "[image: https://x.example/b.png]",
        ),
        ([{"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}], "[audio]"),
        ([{"type": "file", "file": {"filename": "a.pdf"}}], "[file: a.pdf]"),
        ([{"type": "from_the_future"}], "[from the future]"),
        ([], ""),
        ((), ""),
    ],
)
def test_content(content, kept):
    """Text parts are kept word for word, other parts are named."""
    assert one({"content": content}).content == kept


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("2023-05-08", datetime(2023, 5, 8, tzinfo=UTC)),
        (" 2023-05-08T13:56 ", datetime(2023, 5, 8, 13, 56, tzinfo=UTC)),
        ("2023-05-08T13:56Z", datetime(2023, 5, 8, 13, 56, tzinfo=UTC)),
        ("2023-05-08T13:56+05:30", datetime(2023, 5, 8, 8, 26, tzinfo=UTC)),
        (datetime(2023, 5, 8), datetime(2023, 5, 8, tzinfo=UTC)),  # noqa: DTZ001 - naive is the case
        (0, datetime(1970, 1, 1, tzinfo=UTC)),
        (-1.5, datetime(1969, 12, 31, 23, 59, 58, 500000, tzinfo=UTC)),
        (1683554160.000001, datetime(2023, 5, 8, 13, 56, 0, 1, tzinfo=UTC)),
    ],
)
def test_times(given, meant):
    """ISO strings, datetimes and epoch seconds mean the same; a time without a zone is UTC."""
    assert to_time(given) == meant
    assert to_time(given).tzinfo is not None


def test_times_keep_their_clock():
    """The offset that a time was given in is kept, not the name of its zone."""
    kept = to_time("2023-05-08T13:56-07:00")
    assert (kept.hour, kept.tzinfo) == (13, timezone(timedelta(hours=-7)))


@pytest.mark.parametrize(
    "given",
    [
        "",
        "yesterday",
        "13:56",
        "2023-13-01",
        float("nan"),
        float("inf"),
        1683554160000,
        -62_135_596_801,
        253_402_300_800,
        True,
        None,
        b"2023",
        [2023],
        pytest.param(10**400, id="10**400"),
        pytest.param(10**5000, id="10**5000"),
        datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))),
        "9999-12-31T23:59-12:00",
    ],
)
def test_bad_times(given):
    """A value that is no time, or one that cannot be stored, is refused."""
    with pytest.raises(InvalidInput):
        to_time(given)


def test_sessions():
    """A message's own session wins over the call's, and the call's over the default."""
    assert one("x").session == "default"
    assert one("x", session="s").session == "s"
    assert one({"content": "x", "session": "own"}, session="s").session == "own"
    assert one({"content": "x", "session": None}, session="s").session == "s"


def test_what_was_given_is_not_kept():
    """Changing a metadata object after the call changes nothing that was stored."""
    metadata = {"tags": ["a"]}
    message = one({"content": "x", "metadata": metadata})
    metadata["tags"].append("b")
    assert message.metadata == {"tags": ["a"]}


BAD = {
    "no content": {},
    "content None": {"content": None},
    "content number": {"content": 3},
    "content bytes": {"content": b"x"},
    "part number": {"content": [3]},
    "part without type": {"content": [{"text": "x"}]},
    "part text number": {"content": [{"type": "text", "text": 3}]},
    "unknown field": {"content": "x", "contents": "y"},
    "field no string": {"content": "x", 3: "y"},
    "role number": {"content": "x", "role": 3},
    "role empty": {"content": "x", "role": ""},
    "name empty": {"content": "x", "name": ""},
    "id number": {"content": "x", "id": 3.5},
    "session list": {"content": "x", "session": ["s"]},
    "time": {"content": "x", "time": "soon"},
    "metadata list": {"content": "x", "metadata": [1]},
    "metadata object": {"content": "x", "metadata": {"a": object()}},
    "metadata NaN": {"content": "x", "metadata": {"a": float("nan")}},
    "metadata surrogate": {"content": "x", "metadata": {"a": "\ud800"}},
    "metadata deep": {"content": "x", "metadata": {"a": DEEP}},
    "content deep": {"content": DEEP},
    "role deep": {"content": "x", "role": DEEP},
    "role broken": {"content": "x", "role": Broken()},
    "content surrogate": {"content": "half \ud83d of a smile"},
    "name of two lines": {"content": "x", "name": "Ann\nThu 25 May 2023"},
    "role of two lines": {"content": "x", "role": "Ann\r"},
    "name of Unicode's two lines": {"content": "x", "name": "a\u2028b"},
    "name surrogate": {"content": "x", "name": "\udc00"},
    "number": 3,
    "None": None,
    "nested list": [{"content": "x"}],
    "Message content": Message(3),
    "Message metadata": Message("x", metadata=[1]),
    "Message time": Message("x", time="soon"),
    "Message session": Message("x", session=None),
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_bad_messages(bad):
    """A message that cannot be stored is refused by its position in the call."""
    with pytest.raises(InvalidMessage, match=r"^messages\[2\]: ") as caught:
        to_messages(["fine", "fine", bad], session=None)
    assert len(str(caught.value)) < 400
