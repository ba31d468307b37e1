"""What the environment says, read in one place."""

import pytest

from zibaldone import Ceilings, Config, Memory, Message, OpenAIEmbedder
from zibaldone.api import settings
from zibaldone.errors import InvalidInput
from zibaldone.testing import HashEmbedder, ScriptedModel


def test_nothing_set_means_offline(tmp_path):
    """Without variables there is no chat model, and the embedder is the embedded one."""
    with Memory.from_env(tmp_path) as memory:
        assert not memory.admin.can_ask
        assert memory.admin.is_embedded


def test_what_is_given_wins(monkeypatch, tmp_path):
    """A memory that is opened from the environment takes from it what nobody gave, its place too."""
    monkeypatch.setenv("ZIBALDONE_MEMORY", str(tmp_path / "m"))
    monkeypatch.setenv("ZIBALDONE_CHAT_MODEL", "m")
    monkeypatch.setenv("ZIBALDONE_CHAT_BASE_URL", "http://127.0.0.1:1/v1")
    monkeypatch.setenv("ZIBALDONE_EMBED_MODEL", "nobody:knows")
    monkeypatch.setenv("ZIBALDONE_AUDIT", "0")
    model = ScriptedModel(lambda _: "{}")
    with Memory.from_env(chat=model, embedder=HashEmbedder(), config=Config(audit=True)) as memory:
        assert memory.path == tmp_path / "m"
        memory.add(Message("I keep bees."), user="ann")
        assert memory.recall("Who keeps bees?", user="ann").trace.views[0].note == ""
        assert len(memory.admin.audit()) == 2


def test_a_memory_reads_no_environment(monkeypatch, tmp_path):
    """Unless it is asked to: no variable reaches one that is opened by its path."""
    for name in ("CHAT_MODEL", "EMBED_MODEL", "RERANKER", "KEY", "AUDIT", "BLOCKS", "INDEX_MB", "USER_KEYS"):
        monkeypatch.setenv(f"ZIBALDONE_{name}", "nonsense")
    with Memory(tmp_path / "m") as memory:
        assert not memory.admin.can_ask
        assert not memory.admin.encrypted
        assert memory.admin.is_embedded


def test_a_memory_without_a_name(monkeypatch):
    """The error says what to give or to set."""
    monkeypatch.delenv("ZIBALDONE_MEMORY", raising=False)
    with pytest.raises(InvalidInput, match="give its path, or set ZIBALDONE_MEMORY"):
        Memory.from_env()


def test_models_and_ceilings_by_name(monkeypatch):
    """Each variable reaches its place."""
    for name, value in {
        "CHAT_MODEL": "qwen",
        "CHAT_API_KEY": "k",
        "CHAT_TIMEOUT_S": "7",
        "EMBED_MODEL": "bge",
        "EMBED_BASE_URL": "http://127.0.0.1:1/v1",
        "EMBED_DIMENSION": "64",
        "MAX_TOKENS_PER_CALL": "1_000",
        "MAX_CALLS_PER_USER_PER_DAY": "2",
        "MAX_TOKENS_PER_USER_PER_DAY": "3",
        "MAX_TOKENS_PER_DAY": "4",
    }.items():
        monkeypatch.setenv(f"ZIBALDONE_{name}", value)
    assert settings.chat().name == "qwen"
    embedder = settings.embedder()
    assert isinstance(embedder, OpenAIEmbedder)
    assert (embedder.name, embedder.dimension) == ("openai-bge-64", 64)
    assert settings.ceilings() == Ceilings(1000, 2, 3, 4)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CHAT_TIMEOUT_S", "soon"),
        ("CHAT_TIMEOUT_S", "-1"),
        ("CHAT_TIMEOUT_S", "0"),
        ("EMBED_DIMENSION", "8.5"),
        ("EMBED_DIMENSION", "0"),
        ("MAX_TOKENS_PER_DAY", "-3"),
        ("MAX_TOKENS_PER_DAY", "1__0"),
        ("MAX_TOKENS_PER_CALL", "9" * 5000),
    ],
)
def test_a_bad_number_is_named(monkeypatch, tmp_path, name, value):
    """The error says which variable."""
    for key in ("CHAT_MODEL", "EMBED_MODEL"):
        monkeypatch.setenv(f"ZIBALDONE_{key}", "m")
        monkeypatch.setenv(f"ZIBALDONE_{key.replace('MODEL', 'API_KEY')}", "k")
    monkeypatch.setenv(f"ZIBALDONE_{name}", value)
    with pytest.raises(InvalidInput, match=f"ZIBALDONE_{name}"):
        Memory.from_env(tmp_path)
