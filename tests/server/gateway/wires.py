"""The three wire formats behind one face, each by its own client library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import anthropic
import openai

Json = dict[str, Any]
_SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}


@dataclass
class Said:
    """An answer."""

    text: str
    calls: list[tuple[str, str]]  # id, name
    used: tuple[int, int]  # tokens in, out
    memory: Json
    echo: list[Json]  # as the client sends it back
    name: str  # as a request goes on from it


class Wire:
    """One of the formats."""

    path: ClassVar[str]
    list_name: ClassVar[str] = "messages"
    weather: ClassVar[Json]  # a tool of the client's
    client: Any

    def __init__(self, address: str, **headers: str) -> None:
        given: Json = {"api_key": "k", "default_headers": headers, "max_retries": 0}
        if self.path == "messages":
            self.client = anthropic.Anthropic(base_url=address, **given)
        else:
            self.client = openai.OpenAI(base_url=f"{address}/v1", **given)

    def ask(self, history: list[Json] | str, *, stream: bool, **options: Any) -> Said:
        """One request."""
        raise NotImplementedError

    def result(self, call_id: str, words: str) -> Json:
        """Of a call."""
        raise NotImplementedError


class ChatWire(Wire):
    """Chat completions."""

    path = "chat/completions"
    weather: ClassVar[Json] = {
        "type": "function",
        "function": {"name": "weather", "strict": True, "parameters": _SCHEMA},
    }

    def ask(self, history: list[Json] | str, *, stream: bool, **options: Any) -> Said:
        given = {"model": "fake", "messages": history, **options}
        if stream:
            with self.client.chat.completions.stream(
                **given, stream_options={"include_usage": True}
            ) as events:
                chunks = [event.chunk for event in events if event.type == "chunk"]
                answer = events.get_final_completion()
            assert len({chunk.id for chunk in chunks}) == 1
            (memory,) = [chunk.model_extra["memory"] for chunk in chunks if "memory" in chunk.model_extra]
        else:
            answer = self.client.chat.completions.create(**given)
            memory = answer.model_extra["memory"]
        message = answer.choices[0].message
        echo = message.model_dump(exclude_none=True, exclude={"parsed"})
        for call in echo.get("tool_calls", ()):
            call["function"].pop("parsed_arguments", None)
            call.pop("index", None)
        assert message.role == "assistant"
        assert answer.choices[0].finish_reason == ("tool_calls" if message.tool_calls else "stop")
        return Said(
            message.content or "",
            [(call.id, call.function.name) for call in message.tool_calls or ()],
            (answer.usage.prompt_tokens, answer.usage.completion_tokens),
            memory,
            [echo],
            answer.id,
        )

    def result(self, call_id: str, words: str) -> Json:
        return {"role": "tool", "tool_call_id": call_id, "content": words}


class ResponsesWire(Wire):
    """Responses."""

    path, list_name = "responses", "input"
    weather: ClassVar[Json] = {"type": "function", "name": "weather", "strict": True, "parameters": _SCHEMA}

    def ask(self, history: list[Json] | str, *, stream: bool, **options: Any) -> Said:
        given = {"model": "fake", "input": history, **options}
        if stream:
            with self.client.responses.stream(**given) as events:
                answer = events.get_final_response()
        else:
            answer = self.client.responses.create(**given)
        assert all(tool.name != "search_memory" for tool in answer.tools)
        echo = [
            {k: v for k, v in item.model_dump(exclude_none=True).items() if k != "parsed_arguments"}
            for item in answer.output
        ]
        return Said(
            answer.output_text,
            [(item.call_id, item.name) for item in answer.output if item.type == "function_call"],
            (answer.usage.input_tokens, answer.usage.output_tokens),
            answer.model_extra["memory"],
            echo,
            answer.id,
        )

    def result(self, call_id: str, words: str) -> Json:
        return {"type": "function_call_output", "call_id": call_id, "output": words}


class MessagesWire(Wire):
    """Anthropic's messages."""

    path = "messages"
    weather: ClassVar[Json] = {"name": "weather", "input_schema": _SCHEMA}

    def ask(self, history: list[Json] | str, *, stream: bool, **options: Any) -> Said:
        given = {"model": "fake", "max_tokens": 99, "messages": history, **options}
        memory: Json = {}
        if stream:
            with self.client.messages.stream(**given) as events:
                for event in events:
                    if event.type == "message_delta":
                        memory = event.model_extra["memory"]
                answer = events.get_final_message()
        else:
            answer = self.client.messages.create(**given)
            memory = answer.model_extra["memory"]
        calls = [(block.id, block.name) for block in answer.content if block.type == "tool_use"]
        assert answer.stop_reason == ("tool_use" if calls else "end_turn")
        content = [block.model_dump(exclude_none=True) for block in answer.content]
        return Said(
            "\n\n".join(block.text for block in answer.content if block.type == "text"),
            calls,
            (answer.usage.input_tokens, answer.usage.output_tokens),
            memory,
            [{"role": "assistant", "content": content}],
            answer.id,
        )

    def result(self, call_id: str, words: str) -> Json:
        result = {"type": "tool_result", "tool_use_id": call_id, "content": words}
        return {"role": "user", "content": [result]}


CHAT, RESPONSES, MESSAGES = ChatWire, ResponsesWire, MessagesWire
WIRES: dict[str, type[Wire]] = {wire.path: wire for wire in (CHAT, RESPONSES, MESSAGES)}
