"""tests/mutants.py: the changes that it makes, and that it sees which of them a test kills."""

from pathlib import Path

import mutants
import pytest
from mutants import Mutant, mutants_of, sample, verdict

SOURCE = '''"""A module."""

LIMIT = 3


def larger(a: int, b: int = 0) -> int:
    """The larger of two, at most 10."""
    if not a > b:
        raise ValueError(f"{a} is not larger: {1 + 1}")
    print("é", a)
    return min(a, 10) if a > b else b
'''


@pytest.fixture
def module(tmp_path):
    path = tmp_path / "kibitz" / "larger.py"
    path.parent.mkdir()
    path.write_text(SOURCE, encoding="utf-8")
    return path


def test_all_mutants_of_a_file(module, tmp_path):
    found = {(each.line, each.before, each.after) for each in mutants_of("kibitz.larger", module, tmp_path)}
    assert found == {
        (8, "not a > b", "(a > b)"), (8, "a > b", "(a >= b)"), (10, 'print("é", a)', "pass"),
        (11, 'return min(a, 10) if a > b else b', "return None"),
        (11, "min(a, 10) if a > b else b", "(b if a > b else min(a, 10))"), (11, "a > b", "(a >= b)"),
        (11, "10", "(11)"),
    }  # fmt: skip


def test_each_mutant_is_python_and_differs_in_its_line(module, tmp_path):
    for mutant in mutants_of("kibitz.larger", module, tmp_path):
        compile(mutant.source, mutant.path, "exec")
        pairs = zip(mutant.source.splitlines(), SOURCE.splitlines(), strict=True)
        assert [k + 1 for k, (one, two) in enumerate(pairs) if one != two] == [mutant.line]


class Near:
    """One test file, as `Sources.nearest` says it."""

    def __init__(self, path):
        self.path = path

    def nearest(self, modules):
        return [(1, self.path)]


@pytest.mark.parametrize("after, said", [("4", "killed"), ("3 + 0", "survived")])
def test_verdicts(tmp_path, monkeypatch, after, said):
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    (tmp_path / "tiny.py").write_text("def three():\n    return 3\n")
    test = tmp_path / "test_tiny.py"
    test.write_text("from tiny import three\n\n\ndef test_three():\n    assert three() == 3\n")
    mutant = Mutant("tiny", "tiny.py", 2, "3", after, f"def three():\n    return {after}\n")
    assert verdict(mutant, Near(test), 60, tmp_path) == (said, "test_tiny.py::test_three" if said == "killed" else "")
    assert (tmp_path / "tiny.py").read_text() == "def three():\n    return 3\n"


def test_a_sample_is_the_same_each_time_and_has_no_kernels():
    sources = mutants.Sources()
    drawn = sample("kibitz/solvers", 12, 0, sources)
    assert drawn == sample("kibitz/solvers", 12, 0, sources) != sample("kibitz/solvers", 12, 1, sources)
    assert len({(each.path, each.line) for each in drawn}) == 12
    assert not sample("kibitz/solvers/kernels", 12, 0, sources)


@pytest.mark.slow  # it waits for its time to be up
def test_what_a_mutant_has_started_ends_with_its_time(tmp_path, monkeypatch):
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    (tmp_path / "tiny.py").write_text("")
    test = tmp_path / "test_tiny.py"
    test.write_text(
        "import subprocess, sys\nfrom pathlib import Path\n\n\ndef test_long():\n"
        "    child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "    Path('pid').write_text(str(child.pid))\n    child.wait()\n"
    )
    mutant = Mutant("tiny", "tiny.py", 1, "", "", "# another\n")
    assert verdict(mutant, Near(test), 20, tmp_path)[0] == "survived so far"
    stat = Path(f"/proc/{(tmp_path / 'pid').read_text()}/stat")
    assert not stat.exists() or stat.read_text().split()[2] == "Z"
