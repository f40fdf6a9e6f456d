"""Records are frozen dataclasses with slots, whatever of them is compiled when."""

import copy
import pickle
from collections.abc import Mapping
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpufleet.records import record


@record
class Point:
    x: int
    y: object = 0
    tags: list[str] = field(default_factory=list[str], hash=False)
    note: str = field(default="", compare=False, repr=False)
    size: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", self.x * 2)


@dataclass(frozen=True, slots=True)
class Plain:
    x: int
    y: object = 0
    tags: list[str] = field(default_factory=list[str], hash=False)
    note: str = field(default="", compare=False, repr=False)
    size: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", self.x * 2)


@record(kw_only=True)
class Base:
    place: str
    known: bool = True


@record(kw_only=True)
class Below(Base):
    count: int
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])


@record
class One:
    value: float


@record
class Speaking:
    name: str

    def __repr__(self) -> str:
        return f"<{self.name}>"


_ARGUMENTS = st.tuples(
    st.integers(-3, 3),
    st.one_of(st.integers(0, 2), st.text("ab", max_size=2)),
    st.lists(st.text("ab", max_size=1), max_size=2),
    st.text("ab", max_size=1),
)


@given(_ARGUMENTS, _ARGUMENTS)
def test_a_record_behaves_like_the_dataclass_that_it_stands_for(
    a: tuple[Any, ...], b: tuple[Any, ...]
) -> None:
    ours, plain = (Point(*a), Point(*b)), (Plain(*a), Plain(*b))
    assert (ours[0] == ours[1]) == (plain[0] == plain[1])
    assert hash(ours[0]) == hash(plain[0])
    assert repr(ours[0]) == repr(plain[0]).replace("Plain", "Point")
    assert [getattr(ours[0], f.name) for f in fields(ours[0])] == [
        getattr(plain[0], f.name) for f in fields(plain[0])
    ]
    assert replace(ours[0], y=9) == Point(a[0], 9, a[2], a[3])
    for copied in (pickle.loads(pickle.dumps(ours[0])), copy.deepcopy(ours[0]), copy.copy(ours[0])):
        assert copied == ours[0]
        assert copied.note == a[3]


def test_defaults_are_made_anew_for_each_object() -> None:
    assert Point(1).tags is not Point(1).tags
    assert Point(1, tags=["a"]).tags == ["a"]


def test_fields_by_name_only_are_inherited() -> None:
    found = Below(place="spec", count=2)
    assert repr(found) == "Below(place='spec', known=True, count=2, extra={})"
    assert found != Base(place="spec")
    assert pickle.loads(pickle.dumps(found)) == found
    with pytest.raises(TypeError, match=r"Below\.__init__\(\) takes 1 positional argument"):
        Below("spec", count=2)  # type: ignore[misc]
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'place'"):
        Below(count=2)  # type: ignore[call-arg]


def test_an_object_cannot_be_changed_and_holds_its_fields_only() -> None:
    found = Point(1)
    with pytest.raises(FrozenInstanceError, match="cannot assign 2 to field 'x'"):
        found.x = 2  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
        del found.x  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        found.other = 1  # type: ignore[attr-defined]
    assert not hasattr(found, "__dict__")


def test_a_record_of_one_field_compares_it_as_a_tuple_would() -> None:
    nan = float("nan")
    assert One(nan) == One(nan)
    assert One(1.0) != One(2.0)
    assert One(1.0).__eq__(1.0) is NotImplemented


def test_methods_of_the_class_itself_stay() -> None:
    assert repr(Speaking("a")) == "<a>"


def test_wrong_arguments_are_said_as_python_says_them() -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        Point()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        Point(1, z=2)  # type: ignore[call-arg]
