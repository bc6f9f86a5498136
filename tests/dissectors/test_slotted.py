"""slotted makes what the standard library's dataclass makes, as far as anybody can tell."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any

import pytest

from dissectors.slotted import field, make_slotted, replace


@make_slotted
class Point:
    """Two numbers."""

    x: int
    y: int = 2


@make_slotted
class Named(Point):
    """A derived one with more."""

    name: str = "n"


class Plain(Point):
    """A derived one with nothing more."""

    __slots__ = ()


@make_slotted(frozen=False)
class Bag:
    """One that may change, with a default that may, too."""

    things: list[int] = field(default_factory=list)


@make_slotted(eq=False)
class Squared:
    """One that is equal to itself alone, and computes a field."""

    side: int
    area: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "area", self.side**2)

    def __repr__(self) -> str:
        return "a square"


@dataclasses.dataclass(frozen=True, slots=True)
class Point2:
    x: int
    y: int = 2


@dataclasses.dataclass(frozen=True, slots=True)
class OfStandard(Point):
    z: int = 3


CASES = [Point(1), Named(1, name="a"), Plain(1), Bag([1]), Squared(3), OfStandard(1, z=5)]


@pytest.mark.parametrize("made", CASES, ids=lambda made: type(made).__name__)
def test_what_the_standard_library_asks(made: Any) -> None:
    names = [each.name for each in dataclasses.fields(made)]
    assert dataclasses.is_dataclass(made)
    assert not hasattr(made, "__dict__")
    assert [getattr(made, name) for name in names] == list(dataclasses.asdict(made).values())
    for again in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made), dataclasses.replace(made), copy.copy(made)):
        assert type(again) is type(made)
        assert [getattr(again, name) for name in names] == [getattr(made, name) for name in names]
        assert (again == made) is not isinstance(made, Squared)


def test_as_the_standard_library_does() -> None:
    ours, theirs = Point(1), Point2(1)
    assert repr(ours) == repr(theirs).replace("Point2", "Point")
    assert hash(ours) == hash(theirs)
    assert Point.__match_args__ == Point2.__match_args__
    assert {f.name: f.default for f in dataclasses.fields(ours)} == {
        f.name: f.default for f in dataclasses.fields(theirs)
    }
    assert (repr(Squared(2)), repr(Bag())) == ("a square", "Bag(things=[])")
    assert Point(1) != Plain(1) != Named(1)
    assert Point(1) == Point(1, 2) != Point(2)
    assert hash(Squared(2)) != hash(Squared(2))
    with pytest.raises(TypeError):
        hash(Bag())


@pytest.mark.parametrize("made", [Point(1), Named(1), Plain(1), Squared(1)], ids=lambda made: type(made).__name__)
def test_frozen(made: Any) -> None:
    for name in ("x", "side", "other"):
        with pytest.raises(AttributeError):
            setattr(made, name, 5)
        with pytest.raises(AttributeError):
            delattr(made, name)


def test_defaults_are_made_anew_and_arguments_checked() -> None:
    one, other = Bag(), Bag()
    one.things.append(1)
    assert (one.things, other.things) == ([1], [])
    for wrong in (lambda: Point(), lambda: Point(1, 2, 3), lambda: Point(1, z=2), lambda: Squared(1, area=2)):  # type: ignore[call-arg]
        with pytest.raises(TypeError):
            wrong()


def test_replace() -> None:
    assert replace(Named(1, name="a"), y=5) == Named(1, 5, "a")
    assert replace(Squared(2), side=3).area == 9
    assert type(replace(Plain(1), x=2)) is Plain
    with pytest.raises(TypeError):
        replace(Point(1), z=1)
