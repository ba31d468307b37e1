"""Settings of a view: frozen dataclasses whose values are held against their types when they are made."""

from __future__ import annotations

from functools import wraps
from typing import Annotated, Any, TypeVar, dataclass_transform

from pydantic import ConfigDict, Field, ValidationError
from pydantic.dataclasses import dataclass

from zibaldone.core.validation import shown
from zibaldone.errors import InvalidInput

T = TypeVar("T")
Count = Annotated[int, Field(ge=1)]
Whole = Annotated[int, Field(ge=0)]
Cosine = Annotated[float, Field(ge=-1, le=1)]
Share = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[float, Field(ge=0)]


@dataclass_transform(frozen_default=True)
def settings(given: type[T]) -> type[T]:
    """Make a class of settings; it raises InvalidInput, which names the field, for a value that cannot be."""
    made: Any = dataclass(frozen=True, slots=True, config=ConfigDict(strict=True, extra="forbid"))(given)
    plain = made.__init__

    @wraps(plain)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            plain(self, *args, **kwargs)
        except ValidationError as error:
            fault = error.errors()[0]
            if isinstance(own := fault.get("ctx", {}).get("error"), InvalidInput):
                raise own from None
            raise InvalidInput(
                f"{fault['loc'][0]} must be valid, not {shown(fault['input'])}: {fault['msg']}"
            ) from None

    made.__init__ = init
    return made  # type: ignore[no-any-return]
