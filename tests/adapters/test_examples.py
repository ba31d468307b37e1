"""The examples of docs/adapters.md print what the page says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parent.parent.parent / "docs" / "adapters.md"
EXAMPLE = re.compile(
    r"^## (.+?)\n(?:(?!^## ).)*?```python\n(.*?)```\n\n```text\n(.*?)```", re.MULTILINE | re.DOTALL
)
pytestmark = pytest.mark.wide

EXAMPLES = {name: (code, output) for name, code, output in EXAMPLE.findall(PAGE.read_text(encoding="utf-8"))}

# A model that knows what stands in its prompt, as each library takes one.
KNOWS = """
def answer(prompt):
    known = "I am allergic to peanuts" in prompt
    return "I know: you are allergic to peanuts." if known else "I know nothing about it."
"""
MODELS = {
    "OpenAI Agents SDK": """
from agents import ModelResponse, set_tracing_disabled
from agents.models.interface import Model
from agents.usage import Usage
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

set_tracing_disabled(True)

class Knowing(Model):
    async def get_response(self, system_instructions, input, *args, **kwargs):
        part = ResponseOutputText(type="output_text", text=answer(str(input)), annotations=[])
        said = ResponseOutputMessage(
            id="m1", type="message", role="assistant", status="completed", content=[part]
        )
        return ModelResponse(output=[said], usage=Usage(), response_id=None)

    def stream_response(self, *args, **kwargs):
        raise NotImplementedError

model = Knowing()
""",
    "LlamaIndex": "",
    "Pydantic AI": """
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel

model = FunctionModel(lambda messages, info: ModelResponse(parts=[TextPart(answer(str(messages)))]))
""",
    "Google ADK": """
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.genai import types

class Knowing(BaseLlm):
    model: str = "knowing"

    async def generate_content_async(self, llm_request, stream=False):
        text = answer(llm_request.model_dump_json())
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text=text)]))

model = Knowing()
""",
    "LangGraph": """
def model(messages):
    return answer(str(messages))
""",
    "Anthropic's memory tool": "",
}


@pytest.mark.parametrize("name", MODELS)
def test_an_example_prints_what_the_page_says(name, tmp_path):
    """Pasted into a file, with a model, in an empty folder."""
    code, output = EXAMPLES[name]
    script = tmp_path / "example.py"
    script.write_text(KNOWS + MODELS[name] + code, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, script], cwd=tmp_path, capture_output=True, timeout=120, check=False, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == output
