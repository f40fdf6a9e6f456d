from tests.vcenter.references import References


def later(life: int) -> References:
    return References(life, frozenset({"vm-30"}), ("own-uuid", "first-uuid"))


def test_the_first_life_speaks_as_it_is() -> None:
    text = b"<val>vm-70</val><task>task-7</task>"
    assert References().outside(text) is text
    assert References().inside(text) is text


def test_a_machine_keeps_its_reference_in_every_life() -> None:
    second = later(1)
    second.bind("vm-41", "vm-70")
    third = later(2)
    third.bind("vm-55", "vm-70")
    assert second.outside(b"<obj>vm-41</obj>") == b"<obj>vm-70</obj>"
    assert third.inside(b"<obj>vm-70</obj>") == b"<obj>vm-55</obj>"
    assert third.outside(b"<obj>vm-30</obj>") == b"<obj>vm-30</obj>", "the model's is the same"


def test_no_reference_is_told_twice() -> None:
    second = later(1)
    assert second.outside(b">vm-70<") == b">vm-1000070<"
    assert second.inside(b">vm-1000070<") == b">vm-70<"
    assert second.inside(b">vm-70<") == b">vm-0<", "the one of the first life is gone"


def test_a_task_of_an_earlier_life_is_unknown() -> None:
    assert later(1).inside(b">task-9<") == b">task-0<"
    assert later(2).inside(b">task-1000009<") == b">task-0<"
    assert later(2).inside(b">task-2000009<") == b">task-9<"


def test_only_whole_references_and_the_servers_uuid_are_changed() -> None:
    text = b"<key>my vm-70</key><id>own-uuid</id>"
    assert later(1).outside(text) == b"<key>my vm-70</key><id>first-uuid</id>"
