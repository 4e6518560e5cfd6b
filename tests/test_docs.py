"""Check that the documents say what the code does."""

import re
import tomllib

import pytest

import memoprobe
from memoprobe import errors, study
from memoprobe.benchmarks import BENCHMARKS
from memoprobe.metrics import METRICS
from memoprobe.models import MODELS
from memoprobe.perturbations import PERTURBATIONS
from tests.docs import PAGES, ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PAGES)
def test_generated_pages_are_fresh(name):
    """`make docs` writes them again."""
    assert (ROOT / name).read_text(encoding="utf-8") == PAGES[name]()


@pytest.mark.parametrize("name", [*BENCHMARKS, *MODELS, *PERTURBATIONS, *METRICS])
def test_the_readme_names_every_member(name):
    """Whatever is registered can be found by a reader."""
    assert f"`{name}`" in README


def test_the_changelog_starts_with_this_version():
    """The newest entry is what one gets."""
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")

    assert re.search(r"^## (\S+)", changelog, re.MULTILINE)[1] == memoprobe.__version__


@pytest.mark.parametrize("path", sorted((ROOT / "memoprobe").rglob("*.py")), ids=lambda p: p.name)
def test_no_module_is_long(path):
    """One subject a module."""
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400


def test_the_drawing_of_errors_is_complete():
    """Every exception stands below its parent, in the docstring's own order."""
    drawn = re.findall(r"^ *[+-] (\w+)", errors.__doc__, re.MULTILINE)
    depth = {name: line.index(name) for line in errors.__doc__.splitlines() for name in drawn
             if re.match(rf" *[+-] {name}\b", line)}  # fmt: skip
    parents = {}
    for place, name in enumerate(drawn):
        above = [each for each in drawn[:place] if depth[each] < depth[name]]
        parents[name] = above[-1] if above else "MemoprobeError"
    defined = {
        name: cls.__base__.__name__
        for name, cls in vars(errors).items()
        if isinstance(cls, type) and name != "MemoprobeError"
    }

    assert parents == defined


def test_study_files_in_the_documents_are_studies(tmp_path):
    """The README's and the ready ones load as they stand."""
    blocks = re.findall(r"```toml\n(.*?)```", README, re.DOTALL)
    ready = [path.read_text(encoding="utf-8") for path in (ROOT / "studies").glob("*.toml")]
    assert blocks
    assert ready

    for number, text in enumerate([*blocks, *ready]):
        path = tmp_path / f"s{number}.toml"
        path.write_text(text, encoding="utf-8")
        assert study.load(path).models


def test_every_dependency_is_used():
    """Nothing is installed for nothing."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    code = "".join(p.read_text(encoding="utf-8") for p in (ROOT / "memoprobe").rglob("*.py"))
    modules = {"rich": None, "vl-convert-python": "vl_convert"}  # rich: Typer's help pages

    for requirement in project["dependencies"]:
        name = re.match(r"[\w-]+", requirement)[0]
        module = modules.get(name, name.replace("-", "_"))
        if module is not None:
            used = rf'^ *(import|from) {module}\b|"{module}"'  # grammars load by name
            assert re.search(used, code, re.MULTILINE), name
