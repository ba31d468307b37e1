"""The OpenAPI document: complete, valid, and its examples work."""

import json
import re
from pathlib import Path

import httpx2
import pytest

from zibaldone.server.rest import OPERATIONS
from zibaldone.server.rest.openapi import document
from zibaldone.testing import ScriptedModel

DOCUMENT = document(OPERATIONS, "1.2.3")


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


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_an_operation_is_described(operation):
    """With a summary, an example for its body and its path, and what it gives."""
    described = DOCUMENT["paths"][operation.path.replace(":path", "")][operation.method.lower()]
    assert described["summary"].endswith(".")
    assert {"401", "403", "422", "429", "default"} < described["responses"].keys()
    assert any(status.startswith("2") for status in described["responses"])
    if operation.body:
        assert operation.body.model_validate_json(json.dumps(operation.example["body"]))
    query = {"user": None, **operation.example["query"]}
    assert set(query) - {"user"} <= set(operation.query.model_fields)


def test_the_examples_work(serving):
    """Sent one after the other, as they stand in the document, each gets what it is said to get."""
    client = httpx2.Client(base_url=serving(chat=ScriptedModel(lambda _: {"known": False})))
    order = ["addMessages", "maintain"]
    rest = [operation.name for operation in OPERATIONS if operation.name not in (*order, "forget")]
    by_name = {operation.name: operation for operation in OPERATIONS}
    for name in (*order, *rest, "forget"):
        operation = by_name[name]
        path = operation.path.replace(":path", "").format(**operation.example.get("path", {}))
        answer = client.request(
            operation.method, path, params=operation.example["query"], json=operation.example.get("body")
        )
        if name == "changeProfileEntry":  # what is in a profile is not for an example to say
            assert answer.status_code in (200, 404)
        else:
            assert answer.status_code in (*operation.replies, 200), (name, answer.text)
    client.close()


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
