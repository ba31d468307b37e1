"""The OpenAPI document: complete, valid, and its examples work."""

import json
import re
from pathlib import Path

import httpx2
import pytest

from tools.openapi import text

DOCUMENT = json.loads(text())


def references(value):
    """Every $ref in it."""
    if isinstance(value, dict):
        if "$ref" in value:
            yield value["$ref"]
        for inner in value.values():
            yield from references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)


def test_it_is_served_without_a_key(serving, make_key):
    """A client reads it before it has a key."""
    make_key("ann")
    answer = httpx2.get(f"{serving()}/v1/memory/openapi.json")
    assert answer.json()["openapi"] == "3.1.0"
    assert answer.json()["paths"].keys() == DOCUMENT["paths"].keys()


def test_every_reference_leads_somewhere():
    """No name of a shape is missing, and none is there for nothing."""
    names = {reference.removeprefix("#/components/schemas/") for reference in references(DOCUMENT)}
    assert names == set(DOCUMENT["components"]["schemas"])


DESCRIBED = [operation for path in DOCUMENT["paths"].values() for operation in path.values()]


@pytest.mark.parametrize("described", DESCRIBED, ids=lambda described: described["operationId"])
def test_an_operation_is_described(described):
    """With a summary, and what it gives and refuses."""
    assert described["summary"].endswith(".")
    assert {"401", "403", "422", "429", "default"} < described["responses"].keys()
    assert any(status.startswith("2") for status in described["responses"])


PAGE = (Path(__file__).parent.parent.parent / "docs" / "serving.md").read_text(encoding="utf-8")


def test_the_page_s_requests_work(client):
    """What a reader pastes from docs/serving.md does what is said there."""
    lines = re.findall(r"curl -s 'localhost:8787(\S+)' --json '(.+)'", PAGE)
    answers = [client.post(path, json=json.loads(body)) for path, body in lines]
    assert [answer.status_code for answer in answers] == [201, 200]
    assert "My dog is called Rex." in answers[-1].json()["text"]


def test_the_page_names_every_path():
    """Its table leaves none out."""
    table = PAGE.split("## REST")[1].split("## Watching")[0]
    for path in DOCUMENT["paths"]:
        assert path.removeprefix("/v1/memory") in table, path
