"""What the environment says, read in one place."""

import pytest

from zibaldone import settings
from zibaldone.errors import InvalidInput
from zibaldone.models import Ceilings, OpenAIChat, OpenAIEmbedder
from zibaldone.settings import FROM_ENVIRONMENT
from zibaldone.testing import HashEmbedder, ScriptedModel


def test_nothing_set_means_offline():
    """Without variables there is no chat model, the embedded embedder and the default ceilings."""
    assert settings.chat(FROM_ENVIRONMENT) is None
    assert settings.embedder(FROM_ENVIRONMENT) is None
    assert settings.ceilings() == Ceilings()


def test_what_is_given_wins(monkeypatch):
    """An argument, None too, is not overruled by a variable."""
    monkeypatch.setenv("ZIBALDONE_CHAT_MODEL", "m")
    monkeypatch.setenv("ZIBALDONE_CHAT_BASE_URL", "http://127.0.0.1:1/v1")
    model, embedder = ScriptedModel([]), HashEmbedder()
    assert settings.chat(model) is model
    assert settings.chat(None) is None
    assert settings.embedder(embedder) is embedder
    assert isinstance(settings.chat(FROM_ENVIRONMENT), OpenAIChat)


def test_models_and_ceilings_by_name(monkeypatch):
    """Each variable reaches its place."""
    for name, value in {
        "CHAT_MODEL": "qwen",
        "CHAT_API_KEY": "k",
        "CHAT_TIMEOUT_S": "7.5",
        "EMBED_MODEL": "bge",
        "EMBED_BASE_URL": "http://127.0.0.1:1/v1",
        "EMBED_DIMENSION": "64",
        "MAX_TOKENS_PER_CALL": "1_000",
        "MAX_CALLS_PER_USER_PER_DAY": "2",
        "MAX_TOKENS_PER_USER_PER_DAY": "3",
        "MAX_TOKENS_PER_DAY": "4",
    }.items():
        monkeypatch.setenv(f"ZIBALDONE_{name}", value)
    assert settings.chat(FROM_ENVIRONMENT).name == "qwen"
    embedder = settings.embedder(FROM_ENVIRONMENT)
    assert isinstance(embedder, OpenAIEmbedder)
    assert (embedder.name, embedder.dimension) == ("openai-bge-64", 64)
    assert settings.ceilings() == Ceilings(1000, 2, 3, 4)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CHAT_TIMEOUT_S", "soon"),
        ("CHAT_TIMEOUT_S", "-1"),
        ("CHAT_TIMEOUT_S", "nan"),
        ("EMBED_DIMENSION", "8.5"),
        ("EMBED_DIMENSION", "0"),
        ("MAX_TOKENS_PER_DAY", "-3"),
        ("MAX_TOKENS_PER_DAY", "1__0"),
        ("MAX_TOKENS_PER_CALL", "9" * 5000),
    ],
)
def test_a_bad_number_is_named(monkeypatch, name, value):
    """The error says which variable."""
    for key in ("CHAT_MODEL", "EMBED_MODEL"):
        monkeypatch.setenv(f"ZIBALDONE_{key}", "m")
        monkeypatch.setenv(f"ZIBALDONE_{key.replace('MODEL', 'API_KEY')}", "k")
    monkeypatch.setenv(f"ZIBALDONE_{name}", value)
    with pytest.raises(InvalidInput, match=f"ZIBALDONE_{name}"):
        settings.chat(FROM_ENVIRONMENT), settings.embedder(FROM_ENVIRONMENT), settings.ceilings()
