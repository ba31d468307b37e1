"""What every embedder promises, of one behind a server; and what it makes of vectors that are none."""

import numpy as np
import pytest

from misbehaving_server import MisbehavingServer, Misbehaviour
from zibaldone import OpenAIEmbedder
from zibaldone.errors import InvalidInput, ModelFailed, ModelUnavailable
from zibaldone.models import openai

pytestmark = [pytest.mark.enable_socket, pytest.mark.allow_hosts(["127.0.0.1"])]

TEXTS = ["Caroline went to a support group.", "a", "犬が好きです", "naïve 😀", "x" * 5000, "a\nb\tc\0nul"]


class OddServer(MisbehavingServer):
    """Changes its answers by a function."""

    change = staticmethod(lambda data: data)

    def _embeddings(self, body):
        answer = super()._embeddings(body)
        return answer | {"data": self.change(answer["data"])}


@pytest.fixture
def odd():
    """A server whose answers can be changed."""
    with OddServer() as server:
        yield server


@pytest.fixture
def new_embedder(odd):
    """Makes embedders of the server, and closes them."""
    made = []

    def new(model="fake", **arguments):
        made.append(OpenAIEmbedder(model, base_url=odd.base_url, timeout_s=2, max_retries=0, **arguments))
        return made[-1]

    yield new
    for embedder in made:
        embedder.close()


@pytest.fixture
def embedder(new_embedder, monkeypatch):
    """One of them, with batches that even a few texts fill."""
    monkeypatch.setattr(openai, "_TEXTS_PER_REQUEST", 2)
    return new_embedder()


def test_one_unit_row_of_float32_per_text(odd, embedder):
    """N texts give (n, dimension) float32 of length 1, none no rows; texts stay as they were."""
    for texts in ([], TEXTS[:1], TEXTS):
        given = list(texts)
        vectors = embedder.embed(given)
        assert given == texts
        assert (vectors.shape, vectors.dtype) == ((len(texts), embedder.dimension), np.float32)
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert (embedder.embed(TEXTS[2:3])[0] == vectors[2]).all()
    assert max(len(body["input"]) for body in odd.requests[1:]) == 2


def test_an_empty_text_has_a_zero_row_and_is_not_sent(odd, embedder):
    """Servers refuse it."""
    vectors = embedder.embed(["", "a", " \n"])
    assert [bool(row.any()) for row in vectors] == [False, True, False]
    assert [body["input"] for body in odd.requests] == [["dimension"], ["a"]]


def test_well_known_models_are_not_asked(odd, new_embedder):
    """Their dimension is on record, and is not sent."""
    embedder = new_embedder("text-embedding-3-small")
    assert (embedder.dimension, odd.requests) == (1536, [])
    with pytest.raises(ModelFailed, match=r"\(1, 64\)"):  # the server's are of another length
        embedder.embed(["a"])
    assert "dimensions" not in odd.requests[0]
    assert odd.requests[0]["encoding_format"] == "float"


def test_the_order_is_the_index_s(odd, embedder):
    """A server may answer in any order."""
    straight = embedder.embed(["red", "blue"])
    odd.change = lambda data: data[::-1]
    assert (embedder.embed(["red", "blue"]) == straight).all()


def _each(**fields):
    return lambda data: [one | fields for one in data]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (_each(embedding=[float("nan")] * 64), "finite"),
        (_each(embedding=[1e300] * 64), "finite"),
        (_each(embedding=[10**400] * 64), "protocol"),
        (_each(embedding=[1.0] * 63), r"\(2, 63\)"),
        (_each(embedding=[]), r"\[0\] numbers"),
        (_each(embedding="AAAA"), "protocol"),
        (_each(embedding=None), "protocol"),
        (_each(index=0), "2 vectors for 2 texts"),
        (lambda data: data[:1], "1 vectors for 2 texts"),
        (lambda data: [data[0], data[1] | {"embedding": [1.0]}], r"\[1, 64\] numbers"),
        (lambda _: None, "protocol"),
        (lambda _: [], "0 vectors for 2 texts"),
    ],
    ids="nan overflow huge_int short empty base64 null same_index missing ragged no_data none".split(),
)
def test_vectors_that_are_none(odd, embedder, change, says):
    """A wrong shape, a number that is none and a doubtful order are failures, not memories."""
    assert embedder.dimension == 64
    odd.change = change
    with pytest.raises(ModelFailed, match=says) as raised:
        embedder.embed(["red", "blue"])
    assert not isinstance(raised.value, ModelUnavailable)


@pytest.mark.parametrize(
    "misbehaviour", [Misbehaviour.UNAUTHORISED, Misbehaviour.NOT_FOUND, Misbehaviour.HANG]
)
def test_an_embedder_that_cannot_be_had(odd, misbehaviour):
    """Asking for the dimension fails with the same words as embedding."""
    odd.always = misbehaviour
    embedder = OpenAIEmbedder("m", base_url=odd.base_url, api_key="sk-secret", timeout_s=0.2, max_retries=0)
    for ask in (lambda: embedder.dimension, lambda: embedder.embed(["a"])):
        with pytest.raises(ModelUnavailable, match=r"check|within") as raised:
            ask()
        assert "sk-secret" not in str(raised.value)
    embedder.close()


@pytest.mark.parametrize("dimension", [0, True])
def test_arguments_that_cannot_be_meant(dimension):
    """Each is refused by name."""
    with pytest.raises(InvalidInput, match="dimension"):
        OpenAIEmbedder("m", base_url="http://127.0.0.1:1/v1", dimension=dimension)
