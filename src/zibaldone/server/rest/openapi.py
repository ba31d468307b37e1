"""The OpenAPI 3.1 document, made of the operations and their shapes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from zibaldone.api.operations import Operation, Rest
from zibaldone.server.inputs import body_shape, query_shape
from zibaldone.server.problems import MEDIA_TYPE
from zibaldone.server.rest.operation import ROOT
from zibaldone.server.rest.shapes import PROBLEM, RESULTS
from zibaldone.views.topics.read.agent_tools import Arguments

_REF = "#/components/schemas/{model}"
_PARAMETER = re.compile(r"\{(\w+)(?::\w+)?\}")
_MEANING = {
    200: "As asked.",
    201: "Stored.",
    400: "The body is not JSON, or nobody's memory was named.",
    401: "A key is needed, or this one is unknown or was revoked.",
    403: "The key does not open this, or a page of another origin sent the request.",
    404: "There is none of this id.",
    408: "The body did not come in time.",
    409: "The id is taken by a message with another content.",
    413: "The body is too large.",
    415: "The body is not declared to be JSON.",
    421: "The Host header names no host of this server.",
    422: "Something in the request cannot be used; `errors` say what.",
    429: "The key sent too many requests: wait as long as Retry-After says.",
    503: "Busy or shutting down: wait as long as Retry-After says.",
}
_ALWAYS = (401, 403, 421, 422, 429, 503)
_WITH_BODY = (400, 408, 413, 415)
_SUMMARY = (
    "Every message is kept once, word for word, and recalled with its source. A key of the server opens one"
    " user's memory; where none is needed, or with an admin's key, the parameter `user` names whose memory it"
    " is. Errors are problem details (RFC 9457)."
)


def document(operations: Sequence[Operation], version: str) -> dict[str, Any]:
    """The document. It depends on nothing else, so it is the same for every server of a version."""
    schemas = _schemas(operations)
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        assert operation.rest is not None
        path = _PARAMETER.sub(r"{\1}", f"{ROOT}/{operation.rest.path}")
        paths.setdefault(path, {})[operation.rest.method.lower()] = _operation(operation, operation.rest)
    return {
        "openapi": "3.1.0",
        "info": {"title": "zibaldone", "version": version, "description": _SUMMARY},
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "key": {"type": "apiKey", "in": "header", "name": "X-Memory-Key"},
            },
        },
        "security": [{}, {"bearer": []}, {"key": []}],
    }


def _schemas(operations: Sequence[Operation]) -> dict[str, Any]:
    taken: dict[tuple[type[BaseModel], JsonSchemaMode], None] = {(PROBLEM, "serialization"): None}
    for operation in operations:
        if body := body_shape(operation):
            taken[body, "validation"] = None
        if operation.rest and operation.rest.result:
            taken[RESULTS[operation.rest.result], "serialization"] = None
    _, made = models_json_schema(list(taken), ref_template=_REF)
    return {name: _plain(schema) for name, schema in sorted(made["$defs"].items())}


def _operation(operation: Operation, rest: Rest) -> dict[str, Any]:
    query = {"user": "ann", **rest.example.get("query", {})}
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "parameters": [*_path_parameters(rest), *_query_parameters(query_shape(operation), query)],
        "responses": _responses(rest),
    }
    if body := body_shape(operation):
        content = {"schema": _reference(body), "example": rest.example["body"]}
        described["requestBody"] = {"required": True, "content": {"application/json": content}}
    return described


def _path_parameters(rest: Rest) -> list[dict[str, Any]]:
    examples = rest.example.get("path", {})
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "string", "minLength": 1},
            "example": examples[name],
        }
        for name in _PARAMETER.findall(rest.path)
    ]


def _query_parameters(shape: type[Arguments], example: Mapping[str, Any]) -> list[dict[str, Any]]:
    schema = shape.model_json_schema(ref_template=_REF)
    parameters = []
    for name, declared in schema["properties"].items() if "properties" in schema else ():
        value = _plain(_not_null(declared))
        parameter: dict[str, Any] = {
            "name": name,
            "in": "query",
            "required": name in schema.get("required", ()),
        }
        if "description" in value:
            parameter["description"] = value.pop("description")
        if value.get("contentMediaType") == "application/json":
            parameter["content"] = {"application/json": {"schema": value["contentSchema"]}}
        else:
            parameter["schema"] = value
            if name in example:
                parameter["example"] = example[name]
        parameters.append(parameter)
    return parameters


def _not_null(declared: dict[str, Any]) -> dict[str, Any]:
    """A parameter is there or not; it is never null."""
    kinds = [kind for kind in declared.get("anyOf", ()) if kind != {"type": "null"}]
    merged = {**declared, **kinds[0]} if len(kinds) == 1 else dict(declared)
    if len(kinds) == 1:
        del merged["anyOf"]
    if merged.get("default", 0) is None:
        del merged["default"]
    return merged


def _responses(rest: Rest) -> dict[str, Any]:
    content: dict[str, Any] = {}
    if rest.streams:
        content[rest.streams] = {"schema": {"type": "string", "description": "JSON, a line each."}}
    if rest.result:
        content["application/json"] = {"schema": _reference(RESULTS[rest.result])}
    responses: dict[str, Any] = {str(rest.status): {"description": _MEANING[rest.status], "content": content}}
    problem = {MEDIA_TYPE: {"schema": _reference(PROBLEM)}}
    for status in sorted({*_ALWAYS, *(_WITH_BODY if rest.body else (400,)), *rest.problems}):
        responses[str(status)] = {"description": _MEANING[status], "content": problem}
    responses["default"] = {"description": "Any other problem.", "content": problem}
    return responses


def _reference(shape: type[BaseModel]) -> dict[str, str]:
    return {"$ref": _REF.format(model=shape.__name__)}


def _plain(schema: Any) -> Any:
    """Without titles, which only repeat names."""
    if isinstance(schema, dict):
        properties = schema.get("properties")
        shown = {name: _plain(value) for name, value in schema.items() if name not in ("title", "properties")}
        if properties is not None:
            shown["properties"] = {name: _plain(value) for name, value in properties.items()}
        return shown
    return [_plain(value) for value in schema] if isinstance(schema, list) else schema
