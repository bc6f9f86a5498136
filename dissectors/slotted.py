"""Slotted classes of named fields, like the standard library's dataclass, but faster to import.

Theory. dataclass writes up to six methods of each class as text and compiles them, which takes half a millisecond. One
message is decoded by forty classes, so this took as long as the rest of that run. Here only `__init__` is compiled,
because its speed matters; all classes share the other methods, which read the list of fields. Type checkers,
replace(), fields() and is_dataclass() treat these classes as dataclasses; the data for those functions is made on
demand. A dataclass may be derived from such a class, but not the reverse.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, dataclass_transform, overload

_Class = TypeVar("_Class")
_Object = TypeVar("_Object")
_REQUIRED: Any = object()


class _Spec:
    """A field: its default, or what makes one; `init`: whether it is a parameter; metadata: what others say of it."""

    __slots__ = ("default", "factory", "init", "metadata")

    def __init__(
        self, default: Any, factory: Callable[[], Any] | None = None, init: bool = True, metadata: Any = None
    ) -> None:
        self.default, self.factory, self.init, self.metadata = default, factory, init, metadata


def field(
    *,
    default: Any = _REQUIRED,
    default_factory: Callable[[], Any] | None = None,
    init: bool = True,
    metadata: Any = None,
) -> Any:
    """Declares a field with a default made for each object, with metadata, or set by `__post_init__`."""
    return _Spec(default, default_factory, init, metadata)


def metadata_of(cls: type) -> dict[str, Any]:
    """By name the metadata of those fields that a slotted class itself declares, and that have any; in their order."""
    specs: Mapping[str, _Spec] = cls.__slotted_fields__  # type: ignore[attr-defined]
    return {name: specs[name].metadata for name in cls.__annotations__ if specs[name].metadata is not None}


@overload
def make_slotted(cls: type[_Class], /) -> type[_Class]: ...


@overload
def make_slotted(*, frozen: bool = True, eq: bool = True) -> Callable[[type[_Class]], type[_Class]]: ...


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def make_slotted(cls: type | None = None, /, *, frozen: bool = True, eq: bool = True) -> Any:
    """Decorates a class as dataclass(slots=True, frozen=frozen, eq=eq); its own definitions stay."""
    if cls is None:
        return lambda decorated: _make_slotted(decorated, frozen, eq)
    return _make_slotted(cls, frozen, eq)


def _make_slotted(cls: type, frozen: bool, eq: bool) -> type:
    space = dict(cls.__dict__)
    own = {name: _spec(space.pop(name, _REQUIRED)) for name in space.get("__annotations__", ())}
    specs: dict[str, _Spec] = {**getattr(cls, "__slotted_fields__", {}), **own}
    space.pop("__dict__", None)
    space.pop("__weakref__", None)
    shared: dict[str, Any] = {"__repr__": _repr, "__getstate__": _state, "__setstate__": _set_state}
    if frozen:
        shared |= {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
    if eq:
        shared |= {"__eq__": _equals, "__hash__": _hash if frozen else None}
    made = type(cls)(
        cls.__name__,
        cls.__bases__,
        {
            **shared,
            **space,
            "__slots__": tuple(own),
            "__match_args__": tuple(name for name, spec in specs.items() if spec.init),
            "__slotted_fields__": specs,
            "__init__": _initializer(cls, specs, frozen),
            "__dataclass_fields__": _DataclassFields(),
            "__dataclass_params__": _DataclassParams(frozen),
        },
    )
    made.__qualname__ = cls.__qualname__
    return made


def _spec(default: Any) -> _Spec:
    return default if isinstance(default, _Spec) else _Spec(default)


def _initializer(cls: type, specs: Mapping[str, _Spec], frozen: bool) -> Callable[..., None]:
    """`__init__`, written as if by hand."""
    names: dict[str, Any] = {"_set": object.__setattr__}
    parameters, lines = [], []
    for name, spec in specs.items():
        if not spec.init:
            continue
        value = name
        if spec.factory is not None:
            names[f"_new_{name}"], names["_required"] = spec.factory, _REQUIRED
            value = f"_new_{name}() if {name} is _required else {name}"
            parameters.append(f"{name}=_required")
        elif spec.default is _REQUIRED:
            parameters.append(name)
        else:
            names[f"_default_{name}"] = spec.default
            parameters.append(f"{name}=_default_{name}")
        lines.append(f'_set(self, "{name}", {value})' if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    exec(f"def __init__(self, {', '.join(parameters)}):\n {'; '.join(lines)}", names)  # noqa: S102 # as dataclass does
    made: Callable[..., None] = names["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


def replace(self: _Object, **changes: Any) -> _Object:
    """Copies an object with other values in some fields, as dataclasses.replace() does, without that module."""
    specs: Mapping[str, _Spec] = type(self).__slotted_fields__  # type: ignore[attr-defined]
    return type(self)(**{name: getattr(self, name) for name, spec in specs.items() if spec.init} | changes)


class _DataclassParams:
    """As much of it as dataclass looks at when a class is derived."""

    __slots__ = ("frozen",)

    def __init__(self, frozen: bool) -> None:
        self.frozen = frozen


class _DataclassFields:
    """The fields as dataclasses keeps them, made for who asks: replace(), fields(), a class derived from this one."""

    def __get__(self, _: object, owner: Any) -> dict[str, Any]:
        import dataclasses

        specs: dict[str, _Spec] = owner.__slotted_fields__
        columns = []
        for name, spec in specs.items():
            options: dict[str, Any] = {"init": spec.init}
            if spec.factory is not None:
                options["default_factory"] = spec.factory
            elif spec.default is not _REQUIRED:
                options["default"] = spec.default
            columns.append((name, Any, dataclasses.field(**options)))
        found: dict[str, Any] = dataclasses.make_dataclass(owner.__name__, columns).__dict__["__dataclass_fields__"]
        owner.__dataclass_fields__ = found
        return found


def _values(self: Any) -> tuple[Any, ...]:
    return tuple([getattr(self, name) for name in self.__slotted_fields__])


def _repr(self: Any) -> str:
    shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slotted_fields__)
    return f"{self.__class__.__qualname__}({shown})"


def _equals(self: Any, other: object) -> bool:
    return _values(self) == _values(other) if other.__class__ is self.__class__ else NotImplemented


def _hash(self: Any) -> int:
    return hash(_values(self))


def _state(self: Any) -> tuple[Any, ...]:
    return _values(self)


def _set_state(self: Any, state: tuple[Any, ...]) -> None:
    for name, value in zip(self.__slotted_fields__, state, strict=True):
        object.__setattr__(self, name, value)


def _refuse_to_set(self: object, name: str, value: object) -> None:
    raise AttributeError(f"cannot assign to field {name!r} of a frozen {type(self).__name__}")


def _refuse_to_delete(self: object, name: str) -> None:
    raise AttributeError(f"cannot delete field {name!r} of a frozen {type(self).__name__}")
