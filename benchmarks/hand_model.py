"""A chat model that anybody can be: an OpenAI-compatible server on the loopback, answered by hand.

    python -m benchmarks.hand_model FOLDER --port 8808

Every request is a page in the folder, `<task>/<id>.md`: what was asked word for word, and the last turn's
JSON laid out to be read. The request is held open, as many at a time as come, until its answer is there:
below `# Reply` on the page, or on a line `{"id": ..., "answer": ...}` of an
`answers.jsonl`. These are the files of `RecordedModel`: a question that was answered once is answered from
them at once, and a run over them needs no server. People are slow: give clients a timeout of hours
(ZIBALDONE_CHAT_TIMEOUT_S).
"""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from zibaldone.errors import InvalidInput, QuestionOpen
from zibaldone.models.base import ChatReply, ChatRequest, Turn
from zibaldone.models.recorded import RecordedModel, page

MODEL = "by-hand"
_ANSWERED = "# Reply"
_POLL_S = 1.0  # of each open request; a person is slow, and sixty may be open


class HandModelServer:
    """Serves until it is closed; `url` is what a client calls its base URL."""

    def __init__(self, folder: str | Path, port: int = 0, poll_s: float = _POLL_S) -> None:
        self._recorded, self._poll_s = RecordedModel(folder, on_miss="leave_open"), poll_s
        self._is_closed = False
        routes = [Route("/v1/chat/completions", self._complete, methods=["POST"])]
        listening = socket.create_server(("127.0.0.1", port))
        self.url = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        self._server = uvicorn.Server(uvicorn.Config(Starlette(routes=routes), log_level="warning"))
        self._thread = threading.Thread(target=self._server.run, args=([listening],), daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Break off what is held open."""
        self._is_closed = self._server.should_exit = True
        self._thread.join()

    async def _complete(self, http: Request) -> JSONResponse:
        try:
            asked = await http.json()
            request = _request(asked)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            return _refusal(400, f"no chat completion: {error!r}")
        if asked.get("stream"):
            return _refusal(400, "a person does not stream: leave 'stream' out")
        reply = await self._answer(request)
        if reply is None:
            return _refusal(503, "the server was closed")
        choice = {"index": 0, "message": {"role": "assistant", "content": reply.text}}
        head = {"id": "by-hand", "object": "chat.completion", "created": int(time.time()), "model": MODEL}
        return JSONResponse(head | {"choices": [choice | {"finish_reason": reply.finish}]})

    async def _answer(self, request: ChatRequest) -> ChatReply | None:
        """Wait for somebody's answer; None when the server is closed before."""
        path, told = self._recorded.path(request), ""
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(_laid_out(request), encoding="utf-8")
            print(f"open: {path}", flush=True)
        while not self._is_closed:
            try:
                return self._recorded.chat(request)
            except QuestionOpen:
                pass
            except InvalidInput as error:  # a file that can be mended while the request waits
                if str(error) != told:
                    told = str(error)
                    print(told, flush=True)
            await asyncio.sleep(self._poll_s)
        return None


def _refusal(status: int, message: str) -> JSONResponse:
    return JSONResponse({"error": {"message": message, "type": "invalid_request_error"}}, status)


def _request(asked: Mapping[str, Any]) -> ChatRequest:
    """A request as our client sends it, and as others do."""
    form = (asked.get("response_format") or {}).get("json_schema") or {}
    return ChatRequest(
        str(form.get("name") or "text"),
        tuple(Turn(turn["role"], _text(turn["content"])) for turn in asked["messages"]),
        schema=form.get("schema"),
        max_tokens=asked.get("max_completion_tokens") or asked.get("max_tokens"),
        temperature=float(asked.get("temperature") or 0.0),
    )


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def _laid_out(request: ChatRequest) -> str:
    """The page, with the last turn's JSON in lines."""
    text = page(request, None, "")
    try:
        lines = json.dumps(json.loads(request.turns[-1].content), ensure_ascii=False, indent=2)
    except ValueError:
        return text
    fence = "`" * 8
    head = text.rpartition(_ANSWERED)[0]
    return f"{head}## the last turn, laid out\n\n{fence}json\n{lines}\n{fence}\n\n{_ANSWERED}\n"


def main(
    folder: Annotated[Path, typer.Argument(help="Where questions and answers are.")],
    port: Annotated[int, typer.Option(help="Of the loopback.")] = 8808,
) -> None:
    """Be the chat model of a run: ZIBALDONE_CHAT_BASE_URL is the address that is printed."""
    server = HandModelServer(folder, port)
    print(f"{server.url}, model {MODEL!r}; pages are in {folder}", flush=True)
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        server.close()


if __name__ == "__main__":
    typer.run(main)
