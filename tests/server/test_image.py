"""The image and its compose file say what the command line takes."""

import json
import re
import shlex
from pathlib import Path

import pytest
import yaml
from typer.main import get_command

from zibaldone.cli.app import app
from zibaldone.server.settings import ServerSettings

HOME = Path(__file__).parents[2]
DOCKERFILE = (HOME / "Dockerfile").read_text(encoding="utf-8")
COMPOSE = (HOME / "compose.yaml").read_text(encoding="utf-8")


def of_image(instruction):
    """The words of an instruction in its JSON form."""
    return json.loads(re.findall(rf"^{instruction} (\[.*\])$", DOCKERFILE, re.MULTILINE)[-1])


def commands():
    """Words after the entry point, by where they stand."""
    told = re.findall(r"docker compose run --rm memory (.+)", COMPOSE)
    return [
        pytest.param(of_image("CMD"), id="the image's own"),
        pytest.param(yaml.safe_load(COMPOSE)["services"]["memory"]["command"], id="compose.yaml's"),
        *(pytest.param(shlex.split(words), id=words) for words in told),
    ]


@pytest.mark.parametrize("words", commands())
def test_the_command_line_takes_each_command_of_the_image(words, monkeypatch, tmp_path):
    """Every option is one of today's; the folder comes from the environment."""
    assert of_image("ENTRYPOINT") == ["zibaldone"]
    assert "ZIBALDONE_MEMORY=/memory" in DOCKERFILE
    monkeypatch.setenv("ZIBALDONE_MEMORY", str(tmp_path))
    command, context = get_command(app), None
    while hasattr(command, "commands"):
        command, *words = command.commands[words[0]], *words[1:]
    context = command.make_context("zibaldone", list(words))
    assert context.args == []


def test_compose_reaches_the_port_and_the_volume_of_the_image():
    """Both name them anew; the image is healthy when its memory answers, and is given time to end."""
    service = yaml.safe_load(COMPOSE)["services"]["memory"]
    (port,) = re.findall(r"^EXPOSE (\d+)$", DOCKERFILE, re.MULTILINE)
    (volume,) = re.findall(r"^VOLUME (\S+)$", DOCKERFILE, re.MULTILINE)
    assert service["ports"] == [f"127.0.0.1:{port}:{port}"]
    assert service["volumes"] == [f"memory:{volume}"]
    assert f"http://127.0.0.1:{port}/readyz" in re.search(r"HEALTHCHECK .*\n.*", DOCKERFILE)[0]
    assert int(service["stop_grace_period"].removesuffix("s")) > ServerSettings().shutdown_timeout_s
