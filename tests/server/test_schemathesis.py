"""Schemathesis sends what the OpenAPI document allows, and what it does not, to every operation."""

from __future__ import annotations

import json
import re

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from loopback import servers
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance

from tools.openapi import text

pytestmark = pytest.mark.wide

SCHEMA = schemathesis.openapi.from_dict(json.loads(text()))
DESCRIBED = {operation.ok().label: operation.ok() for operation in SCHEMA.get_all_operations()}
# What no JSON Schema can say of a request; whatever else it allows has to be accepted.
UNSAID = re.compile(
    r"needs a chat model|must be before|outside the years"
    r"|content\[\d+\]|^messages\[\d+\]|is the user's: give the question"
    r"|this memory never had|destroys a user's key, and this memory has none|a key is of all"
    r"|characters that nobody sees|stands in one line"
)


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """A server without keys."""
    with servers(tmp_path_factory.mktemp("schemathesis")) as serving:
        yield serving()


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize("label", DESCRIBED)
@settings(
    max_examples=40,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(data=st.data())
def test_what_it_sends_gets_what_is_documented(base, label, mode, data):
    """Never a 5xx, nor a status, type or shape that is not in the document; bad input is refused."""
    case = data.draw(DESCRIBED[label].as_strategy(generation_mode=mode))
    takes_a_user = any(parameter.name == "user" for parameter in DESCRIBED[label].query)
    if mode is GenerationMode.POSITIVE and takes_a_user:
        case.query = {**(case.query or {}), "user": "ann"}
    response = case.call(base_url=base)
    case.validate_response(response, excluded_checks=[positive_data_acceptance])
    if mode is GenerationMode.POSITIVE and response.status_code >= 400:
        problem = response.json()
        unsaid = problem["status"] == 422 and UNSAID.search(problem["detail"])
        assert unsaid or problem["status"] in (404, 409) or problem["type"].endswith(":not-granted"), problem
