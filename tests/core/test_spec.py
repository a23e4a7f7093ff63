"""Specs: "name(key=value)" strings are read, printed, looked up, and refused where the mistake stands."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from kibitz.core import spec as specs
from kibitz.core.errors import KibitzError, SpecError
from kibitz.core.spec import MAX_LENGTH, MAX_NESTING, Spec, parse, show


@pytest.mark.parametrize(
    ("text", "name", "args"),
    [
        ("leduc", "leduc", {}),
        ("leduc()", "leduc", {}),
        (" leduc ( ) ", "leduc", {}),
        ("cfr+", "cfr+", {}),
        ("kuhn(players=3)", "kuhn", {"players": 3}),
        ("dcfr(alpha=1.5, beta=0)", "dcfr", {"alpha": 1.5, "beta": 0}),
        ("a(b = -2 ,c=+3, d=.5, e=1e-3, f=2.)", "a", {"b": -2, "c": 3, "d": 0.5, "e": 0.001, "f": 2.0}),
        ("a(b=true, c=false, d=True, e=False)", "a", {"b": True, "c": False, "d": True, "e": False}),
        ("a(b=word, c=x/y.txt, d=2x, e=-)", "a", {"b": "word", "c": "x/y.txt", "d": "2x", "e": "-"}),
        (r'a(b="two words", c="", d="\"\\", e="3")', "a", {"b": "two words", "c": "", "d": '"\\', "e": "3"}),
        ("m(t=[[1, -1], [], [x, [true]]])", "m", {"t": [[1, -1], [], ["x", [True]]]}),
        ("a(b=1\n,\tc=2)", "a", {"b": 1, "c": 2}),
    ],
)
def test_parse(text, name, args):
    spec = parse(text)
    assert spec == Spec(name, args)
    assert [type(v) for v in spec.args.values()] == [type(v) for v in args.values()]
    assert parse(str(spec)) == spec


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "expected a name at column 1, found the end"),
        ("(x=1)", "expected a name at column 1, found '('"),
        ("3x", "expected a name at column 1"),
        ("a b", "expected the end at column 3, found 'b'"),
        ("a(", "expected a parameter's name at column 3, found the end"),
        ("a(3)", "expected a parameter's name at column 3"),
        ("a(b)", "expected '=' at column 4"),
        ("a(b=)", "expected a value at column 5"),
        ("a(b=1", "expected ',' or ')' at column 6, found the end"),
        ("a(b=1 c=2)", "expected ',' or ')' at column 7"),
        ("a(b=1,)", "expected a parameter's name at column 7"),
        ("a(b=1))", "expected the end at column 7"),
        ("a(b=[1, 2)", "expected ',' or ']' at column 10"),
        ("a(b=[1,])", "expected a value at column 8"),
        ('a(b="x)', "expected a closing quote at column 8, found the end"),
        ("a(b=1, b=2)", "'b' is given twice"),
        ("a(b=" + "[" * 30 + "]" * 30 + ")", f"at most {MAX_NESTING} deep"),
        ("a" * (MAX_LENGTH + 1), "too long"),
    ],
)
def test_mistakes_are_told_with_their_column(text, says):
    with pytest.raises(SpecError) as caught:
        parse(text)
    assert says in str(caught.value)


names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_.+\-]*", fullmatch=True)
values = st.recursive(
    st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text().filter(lambda text: text not in ("True", "False")),  # see the next test but one
    lambda inner: st.lists(inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=examples(400), deadline=None, database=None)
@given(names, st.dictionaries(names, values, max_size=4))
def test_what_is_printed_is_read_back(name, args):
    spec = Spec(name, args)
    back = parse(str(spec))
    assert back == spec
    assert repr(back) == repr(spec)  # the same types too: 1 is not True, nor 1.0


@settings(max_examples=examples(400), deadline=None, database=None)
@given(st.text() | st.text(alphabet='ab1=(),[]" \\.-e'))
def test_any_text_is_read_or_refused(text):
    try:
        spec = parse(text)
    except SpecError:
        return
    if "inf" not in repr(spec):  # 1e999 is infinity, which a spec cannot say
        assert parse(str(spec)) == spec


@pytest.mark.parametrize("word", ["True", "False"])
def test_words_that_look_like_booleans(word):
    assert parse(str(Spec("a", {"b": word}))).args["b"] == word


def test_a_number_too_long_for_python():
    with pytest.raises(SpecError):
        parse(f"a(b={'9' * 5000})")


def test_tuples_print_as_lists():
    assert show((1, ("a", True))) == "[1, [a, true]]"


# Looking up and calling


@dataclass(frozen=True)
class Thing:
    size: int = 2
    rate: float = 0.5
    kind: str = "round"
    fine: bool = False
    parts: tuple[int, ...] = (1, 2)


def test_call():
    thing = specs.call(Thing, parse("thing(size=3, rate=1, kind=flat, fine=true, parts=[4])"))
    assert thing == Thing(3, 1, "flat", True, [4])
    assert specs.call(Thing, parse("thing")) == Thing()
    assert specs.call(lambda: 7, parse("seven")) == 7
    assert specs.call(lambda a=None: a, parse("any(a=word)")) == "word"  # no default to judge the type by


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("thing(sise=3)", "did you mean 'size'"),
        ("thing(colour=red)", "known are fine, kind, parts, rate, size"),
        ("thing(size=2.5)", "size=2.5 should be a whole number, such as size=2"),
        ("thing(size=true)", "should be a whole number"),
        ("thing(size=two)", "should be a whole number"),
        ("thing(rate=fast)", "should be a number, such as rate=0.5"),
        ("thing(kind=3)", "should be a word, such as kind=round"),
        ("thing(fine=1)", "should be true or false, such as fine=false"),
        ("thing(parts=3)", "should be a list, such as parts=[1, 2]"),
    ],
)
def test_wrong_arguments_are_told(text, says):
    with pytest.raises(SpecError) as caught:
        specs.call(Thing, parse(text))
    assert says in str(caught.value)


def test_missing_and_needless_arguments():
    with pytest.raises(SpecError, match=r"needs a value for 'a': f\(a=\.\.\.\)"):
        specs.call(lambda a: a, parse("f"))
    with pytest.raises(SpecError, match="f takes no parameters, but 'a' was given"):
        specs.call(lambda: 0, parse("f(a=1)"))


def test_unknown():
    error = specs.unknown("game", "leduk", ["kuhn", "leduc"])
    assert isinstance(error, KibitzError)
    assert str(error) == "unknown game 'leduk': did you mean 'leduc'? known are kuhn, leduc"
    assert "did you mean" not in str(specs.unknown("game", "chess", ["kuhn"]))


def test_of_gives_what_differs_from_the_defaults():
    assert specs.of(Thing(), "thing") == Spec("thing")
    spec = specs.of(Thing(size=3, parts=(1,)), "thing")
    assert str(spec) == "thing(size=3, parts=[1])"
    assert specs.of(object(), "plain") == Spec("plain")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("thing(size=1000000000001)", "size=1000000000001 is too large a number"),
        ("thing(size=-1000000000001)", "is too large a number"),
        ("thing(rate=1e101)", "is too large a number"),
        ("thing(parts=[1, [2e101]])", "is too large a number"),
        ("thing(kind=[[]])", "kind=[[]] should be a word"),
        ("thing(size=[1])", "should be a whole number"),
        ("thing(rate=true)", "should be a number"),
        ("thing(parts=x)", "should be a list"),
    ],
)
def test_numbers_have_an_end_and_lists_are_no_words(text, says):
    with pytest.raises(SpecError) as caught:
        specs.call(Thing, parse(text))
    assert says in str(caught.value)


def test_without_a_default_the_annotation_says_the_type():
    def build(file: str, count: int | None = None, any_of: object = None) -> str:
        return file

    assert specs.call(build, parse("f(file=a, count=3, any_of=[[]])")) == "a"
    for text in ("f(file=3)", "f(file=[a])", "f(file=true)", "f(file=a, count=x)", "f(file=a, count=true)"):
        with pytest.raises(SpecError, match="should be a"):
            specs.call(build, parse(text))


def test_what_is_said_of_a_long_mistake_is_short():
    long = "thing(kind=" + "[1, " * 10 + "1]" * 10 + ")"
    for text in ("x" * 90_000 + "(", "f(" + "a=[1, " * 9_000, long, "f(a=1, a=" + "2" * 9_000):
        with pytest.raises(SpecError) as caught:
            specs.call(Thing, parse(text))
        assert len(str(caught.value)) < 600
    assert len(str(specs.unknown("game", "x" * 90_000, ["kuhn"]))) < 300
