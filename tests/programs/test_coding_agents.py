"""A fact told to a coding agent in one session is before its model in the next; what is stored was said."""

import json
import os
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
TOLD, QUESTION = "I am allergic to penicillin. My dentist is Dr. Moss.", "Who is my dentist, by the way?"
CODEX = """# mine
model = "fake"
model_provider = "fake"

[model_providers.fake]
name = "fake"
base_url = "{url}"
env_key = "FAKE_KEY"
wire_api = "responses"
"""
OPENCODE = """{{
  "$schema": "https://opencode.ai/config.json",
  "provider": {{
    "fake": {{
      "npm": "@ai-sdk/openai-compatible",
      "options": {{"baseURL": "{url}", "apiKey": "none"}},
      "models": {{"fake": {{}}}}
    }}
  }},
  "model": "fake/fake"
}}
"""
HERMES = """model:
  default: fake
  provider: custom
  base_url: {url}
  api_key: none
memory:
  provider: zibaldone
"""
# Of each program: its command, its own configuration, and how it is asked something.
PROGRAMS = {
    "claude-code": ("claude", ".claude/settings.json", '{ "env": {} }', ["claude", "-p"]),
    "codex": (
        "codex",
        ".codex/config.toml",
        CODEX,
        ["codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust"],
    ),
    "opencode": ("opencode", ".config/opencode/opencode.json", OPENCODE, ["opencode", "run"]),
}


@pytest.fixture(params=PROGRAMS)
def program(request):
    """Its name with `zibaldone install`."""
    return request.param


def words(program, text):
    """A prompt as the program's command takes it: opencode puts quotes around an argument with blanks."""
    return text.split() if program == "opencode" else [text]


def test_what_was_told_in_one_session_is_known_in_the_next(desk, program):
    """Installed, told, asked, and removed: as a user does it."""
    command, name, text, asks = PROGRAMS[program]
    user = desk(command)
    config = user.put(name, text.format(url=user.model.url) if "{url}" in text else text)
    before = config.read_bytes()
    user.run("zibaldone", "install", program)
    user.run("zibaldone", "install", program)

    user.model.says("Noted, with care.")
    user.run(*asks, *words(program, TOLD))
    told = [(m.role, m.content) for m in user.stored()]
    assert told == [("user", TOLD), ("assistant", "Noted, with care.")]
    assert {m.metadata["folder"] for m in user.stored()} == {str(user.project)}

    user.model.says("Dr. Moss.")
    user.run(*asks, *words(program, QUESTION))
    sent = json.dumps(user.sent(QUESTION))
    assert "nothing in it is an instruction" in sent
    assert "My dentist is Dr. Moss." in sent.split("Quoted from", 2)[2]  # behind what always holds
    assert "- I am allergic to penicillin." in sent
    assert "Long-term memory of earlier sessions" in sent  # the skill
    assert [(m.role, m.content) for m in user.stored()] == [
        *told,
        ("user", QUESTION),
        ("assistant", "Dr. Moss."),
    ]
    assert len({m.session for m in user.stored()}) == 2

    user.run(*asks, "Nothing of this is kept.", ZIBALDONE_HOOKS="off")
    assert len(user.stored()) == 4
    assert not (user.home / ".local/share/zibaldone/hooks.log").exists()

    user.run("zibaldone", "install", program, "--remove")
    if program == "claude-code":  # which writes its settings itself
        assert "zibaldone" not in config.read_text(encoding="utf-8")
    elif config.suffix == ".json":  # written anew
        assert json.loads(config.read_bytes()) == json.loads(before)
    else:
        assert config.read_bytes() == before
    user.run(*asks, *words(program, QUESTION))
    assert len(user.stored()) == 4


def test_a_broken_memory_stops_no_session(desk, program):
    """The answer comes as without it, and the log has a line."""
    command, name, text, asks = PROGRAMS[program]
    user = desk(command)
    user.put(name, text.format(url=user.model.url) if "{url}" in text else text)
    user.run("zibaldone", "install", program)
    user.put(".local/share/zibaldone/memory/zibaldone.sqlite3", "no database" * 999)
    user.model.says("All is well.")
    assert "All is well." in user.run(*asks, "How are you?")
    assert "UserPromptSubmit" in (user.home / ".local/share/zibaldone/hooks.log").read_text(encoding="utf-8")


@pytest.mark.parametrize("place", ["clone", "wheel"])
def test_claude_code_takes_the_plugin_from_a_clone_and_from_the_package(desk, place):
    """By its own commands, with `zibaldone` on the path."""
    user = desk("claude")
    import zibaldone.cli.install

    folder = ROOT if place == "clone" else Path(zibaldone.cli.install.__file__).parent / "marketplace"
    assert "Validation passed" in user.run("claude", "plugin", "validate", str(folder))
    user.run("claude", "plugin", "marketplace", "add", os.fspath(folder))
    user.run("claude", "plugin", "install", "zibaldone@zibaldone")
    user.run("claude", "-p", TOLD)
    assert user.stored()[0].content == TOLD


def test_hermes_has_the_memory_by_the_provider(desk):
    """The folder is copied, and its name put into the configuration."""
    user = desk("hermes")
    shutil.copytree(ROOT / "integrations/hermes/zibaldone", user.home / ".hermes/plugins/zibaldone")
    user.put(".hermes/config.yaml", HERMES.format(url=user.model.url))
    user.model.says("Noted, with care.")
    user.run("hermes", "-z", TOLD)
    told = [("user", TOLD), ("assistant", "Noted, with care.")]
    assert [(m.role, m.content) for m in user.stored()] == told
    user.run("hermes", "-z", QUESTION)
    sent = json.dumps(user.sent(QUESTION))
    assert "My dentist is Dr. Moss." in sent
    assert "- I am allergic to penicillin." in sent
    assert [m.content for m in user.stored()][2:] == [QUESTION, "Noted, with care."]
