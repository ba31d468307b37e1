"""The services of compose.yaml, run in order without a container engine: stored once, it is there again."""

import itertools
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
import yaml
from upstream import shared_upstream, upstream

pytestmark = pytest.mark.wide
__all__ = ["shared_upstream", "upstream"]
HOME = Path(__file__).parents[2]
DOCKERFILE = (HOME / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
COMPOSE = (HOME / "compose.yaml").read_text(encoding="utf-8")
SERVICE = yaml.safe_load(COMPOSE)["services"]["memory"]
ENTRYPOINT = [sys.executable, "-c", "from zibaldone.cli.app import app; app()"]  # the image's `zibaldone`
HEALTHY_S = 60
HIDING_PLACE = "The spare key hangs behind the green shutter."


def of_image(instruction):
    """What follows an instruction of the image, the last time."""
    return re.findall(rf"^{instruction} (.*)$", DOCKERFILE, re.MULTILINE)[-1]


def environment(place, told):
    """The image's variables and the service's, the volume at `place`, and what the owner has told."""
    image = dict(pair.split("=", 1) for pair in shlex.split(of_image("ENV")))
    del image["PATH"]
    assert image["ZIBALDONE_MEMORY"] == of_image("VOLUME")
    given = SERVICE.get("environment", {})
    return {**os.environ, **image, **given, "ZIBALDONE_MEMORY": place, **told}


def interpolated(words, variables):
    """Words with ${NAME:-default} as Compose replaces it."""
    return [re.sub(r"\$\{(\w+):-(.*)\}", lambda m: variables.get(m[1]) or m[2], word) for word in words]


@contextmanager
def service(place, told, log):
    """The memory service, healthy by the image's own check; gives the process and the base URL."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = str(probe.getsockname()[1])
    inside = of_image("EXPOSE")
    words = ["127.0.0.1" if word == "0.0.0.0" else word for word in interpolated(SERVICE["command"], told)]
    words += ["--port", port]
    with log.open("a") as said:
        process = subprocess.Popen(
            [*ENTRYPOINT, *words],
            stdout=subprocess.DEVNULL,
            stderr=said,
            env=environment(place, told),
        )
    try:
        check = json.loads(re.search(r"CMD (\[.*\])", of_image("HEALTHCHECK"))[1].replace(inside, port))
        until = time.monotonic() + HEALTHY_S
        while subprocess.run([sys.executable, *check[1:]], check=False, capture_output=True).returncode:
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.2)
        yield process, f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


@pytest.fixture(params=["volume", "database and bucket"])
def told(request, tmp_path):
    """What an owner tells the service, and where its memory is."""
    if request.param == "volume":
        return str(tmp_path / "memory"), {}
    bucket = request.getfixturevalue("bucket")
    return request.getfixturevalue("url"), {"ZIBALDONE_BLOCKS": bucket.url, **bucket.environment}


def talked(base, key, question):
    """Ask through the gateway; gives how memory went."""
    body = {"model": "fake", "messages": [{"role": "user", "content": question}]}
    answer = httpx2.post(f"{base}/v1/chat/completions", json=body, headers=key, timeout=60)
    return answer.raise_for_status().headers["x-memory-status"]


def test_the_services_keep_everything_when_one_is_killed(told, upstream, tmp_path):
    """Make the key that the file tells to make, add, recall, kill, start again: all is there, and healthy."""
    place, variables = told
    variables |= {"UPSTREAM": upstream.url}
    log = tmp_path / "log"
    (once,) = re.findall(r"docker compose run --rm memory (.+)", COMPOSE)
    made = subprocess.run(
        [*ENTRYPOINT, *shlex.split(once)],
        env=environment(place, variables),
        capture_output=True,
        text=True,
        check=True,
    )
    key = {"Authorization": f"Bearer {made.stdout.strip()}"}
    with service(place, variables, log) as (process, base):
        added = {"messages": [{"content": HIDING_PLACE}]}
        httpx2.post(f"{base}/v1/memory/messages", json=added, headers=key).raise_for_status()
        assert httpx2.get(f"{base}/v1/memory/messages").status_code == 401
        assert talked(base, key, "Where does the spare key hang?") == "ok"
        assert HIDING_PLACE in upstream.last.body.decode()
        process.send_signal(signal.SIGKILL)
        process.wait()
    with service(place, variables, log) as (process, base):
        stored = httpx2.get(f"{base}/v1/memory/messages", headers=key).raise_for_status().json()["messages"]
        contents = [message["content"] for message in stored]
        assert contents == [HIDING_PLACE, "Where does the spare key hang?", "Noted."]
        until = time.monotonic() + HEALTHY_S  # a recall of a server that has just begun may take too long
        for number in itertools.count():
            if talked(base, key, f"Where was it that the spare key hangs? ({number})") == "ok":
                break
            assert time.monotonic() < until
        assert HIDING_PLACE in upstream.last.body.decode()
        process.send_signal(signal.SIGTERM)
        assert process.wait(float(SERVICE["stop_grace_period"].removesuffix("s"))) == 0
    assert "Traceback" not in log.read_text()
