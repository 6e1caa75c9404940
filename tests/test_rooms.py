"""Which room of the house may import which, and that no imports go in circles.

Only imports at module level count: one inside a function is done when the function runs, and makes no circle.
Imports for type checkers alone are left out.
"""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = {
    "lm_eval_stereoset": ROOT / "lm_eval_stereoset",
    "nsp_finetune": ROOT / "nsp_finetune",
    "stereoset_translation": ROOT / "translation" / "stereoset_translation",
}


def modules() -> dict[str, Path]:
    """{dotted name: file} of all that is ours."""
    found = {}
    for package, folder in PACKAGES.items():
        for path in folder.rglob("*.py"):
            parts = path.relative_to(folder).with_suffix("").parts
            found[".".join((package, *(part for part in parts if part != "__init__")))] = path
    return found


def statements(body: list[ast.stmt]) -> list[ast.stmt]:
    """What runs when the module is imported, without the bodies of functions and of `if TYPE_CHECKING`."""
    found = []
    for statement in body:
        found.append(statement)
        if isinstance(statement, ast.If):
            test = ast.unparse(statement.test)
            found += [] if test.endswith("TYPE_CHECKING") else statements(statement.body)
            found += statements(statement.orelse)
        elif isinstance(statement, ast.Try | ast.With | ast.ClassDef):
            found += statements(statement.body)
    return found


def imported(path: Path, known: dict[str, Path]) -> set[str]:
    """The modules of ours that a file imports at module level."""
    names = set()
    for statement in statements(ast.parse(path.read_text("utf-8")).body):
        if isinstance(statement, ast.Import):
            names |= {alias.name for alias in statement.names}
        elif isinstance(statement, ast.ImportFrom) and statement.module:
            assert statement.level == 0, f"{path}: a relative import"
            for alias in statement.names:
                module = f"{statement.module}.{alias.name}"
                names.add(module if module in known else statement.module)
    return names & set(known)


@pytest.fixture(scope="module")
def graph() -> dict[str, set[str]]:
    known = modules()
    return {name: imported(path, known) - {name} for name, path in known.items()}


def crossings(graph: dict[str, set[str]], source: str, target: str) -> list[str]:
    """Imports of modules in `target` by modules in `source`, both names of packages."""

    def within(name: str, package: str) -> bool:
        return name == package or name.startswith(f"{package}.")

    return [
        f"{name} imports {other}"
        for name, others in graph.items()
        if within(name, source)
        for other in others
        if within(other, target)
    ]


def test_the_walk_sees_imports(graph):
    assert "lm_eval_stereoset.errors" in graph["lm_eval_stereoset.files"]
    assert "lm_eval_stereoset.scoring.head" in graph["lm_eval_stereoset.scoring.masked"]
    assert "lm_eval_stereoset.cli.run" not in graph["lm_eval_stereoset.cli"]  # imported when it is asked for


def test_no_imports_go_in_circles(graph):
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"a circle: {' -> '.join(error.args[1])}")


@pytest.mark.parametrize("target", ["benchmarks", "harness", "data", "report", "cli", "interventions"])
def test_scoring_knows_no_benchmark_no_harness_and_no_data(graph, target):
    assert crossings(graph, "lm_eval_stereoset.scoring", f"lm_eval_stereoset.{target}") == []


@pytest.mark.parametrize("target", ["benchmarks", "harness", "data", "scoring", "report", "cli"])
def test_statistics_are_functions_of_numbers(graph, target):
    assert crossings(graph, "lm_eval_stereoset.stats", f"lm_eval_stereoset.{target}") == []


@pytest.mark.parametrize("target", ["harness", "report", "cli"])
def test_interventions_change_models_whoever_asks_them(graph, target):
    assert crossings(graph, "lm_eval_stereoset.interventions", f"lm_eval_stereoset.{target}") == []


@pytest.mark.parametrize("target", ["harness", "report", "cli"])
def test_data_is_read_without_harness_and_report(graph, target):
    assert crossings(graph, "lm_eval_stereoset.data", f"lm_eval_stereoset.{target}") == []


def folders_of_benchmarks() -> list[str]:
    folder = PACKAGES["lm_eval_stereoset"] / "benchmarks"
    return sorted(path.parent.name for path in folder.glob("*/__init__.py"))


@pytest.mark.parametrize("benchmark", folders_of_benchmarks())
def test_only_the_registry_knows_a_benchmark(graph, benchmark):
    """Benchmarks may build on each other; the translation is about StereoSet's own sentences."""
    found = crossings(graph, "lm_eval_stereoset", f"lm_eval_stereoset.benchmarks.{benchmark}")
    rooms = tuple(f"lm_eval_stereoset.benchmarks.{name}" for name in folders_of_benchmarks())
    assert [line for line in found if not line.startswith(rooms)] == []


def test_a_change_of_rooms_would_be_seen(graph):
    changed = graph | {"lm_eval_stereoset.scoring.masked": {"lm_eval_stereoset.benchmarks.stereoset.example"}}
    assert crossings(changed, "lm_eval_stereoset.scoring", "lm_eval_stereoset.benchmarks")
    with pytest.raises(CycleError):
        TopologicalSorter(graph | {"lm_eval_stereoset.errors": {"lm_eval_stereoset.files"}}).prepare()
