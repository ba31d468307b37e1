"""The house: what is public, where things stand, and which way imports go."""

import ast
import inspect
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

import zibaldone
from zibaldone import errors
from zibaldone.storage.schema import metadata

SOURCE = Path(zibaldone.__file__).parent
ROOT = Path(__file__).parent.parent
MODULES = sorted(SOURCE.rglob("*.py"))

# Who may import whom: downwards, and inside a layer. The public package itself counts as memory's layer.
LAYERS = (
    {"core", "errors"},
    {"text", "models", "storage", "search", "log", "importers"},
    {"views"},
    {"engine"},
    {"recall"},
    {"api", "testing", ""},
    {"__main__", "adapters", "cli", "server"},
)
LAYER = {name: number for number, names in enumerate(LAYERS) for name in names}


@cache
def parsed(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def place(path: Path) -> tuple[str, ...]:
    """A file as dotted parts below the package: ("views", "messages", "view")."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Every node of a file."""
    return tuple(ast.walk(parsed(path)))


@cache
def imports(path: Path) -> tuple[str, ...]:
    """The dotted names that a file imports, inside functions and for types alone included."""
    names: list[str] = []
    for node in nodes(path):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: relative import"
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return tuple(names)


@cache
def imported(path: Path) -> tuple[tuple[str, ...], ...]:
    """What a file imports of this package, as parts."""
    ours = []
    for name in imports(path):
        first, *parts = name.split(".")
        if first == "zibaldone":
            while parts and not exists(tuple(parts)):
                parts.pop()  # a name inside a module
            ours.append(tuple(parts))
    return tuple(ours)


@cache
def exists(parts: tuple[str, ...]) -> bool:
    """Whether these parts name a module or a package."""
    path = SOURCE.joinpath(*parts)
    return path.is_dir() or path.with_suffix(".py").is_file()


def top(parts: tuple[str, ...]) -> str:
    """The module or package directly below ours."""
    return parts[0] if parts else ""


def test_the_packages_of_the_architecture_page_are_those_on_disk():
    """The list under "The packages" names every module and package of the house, in order, and no other."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = page.split("\n## The packages\n")[1].split("\n## ")[0]
    named = re.findall(r"^- `(\w+)(?:/|\.py)?`", section, re.MULTILINE)
    on_disk = {top(place(path)) for path in MODULES} - {""}
    assert named == sorted(on_disk)


def test_the_architecture_page_names_what_is_there():
    """Every module and table that the page names is in the house, and no table is missing."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    tables = set(re.findall(r"`(\w+)`", page.split("\n## Tables\n")[1].split("\n## ")[0]))
    assert tables == set(metadata.tables)
    modules = {"/".join(place(path)[i:]) for path in MODULES for i in range(len(place(path)))}
    modules |= {"/".join(place(path)[i:-1]) for path in MODULES for i in range(len(place(path)) - 1)}
    methods = {"add", "editor", "housekeep", "maintain", "rebuild", "remember", "secure_delete", "prompts"}
    methods |= {"diff", "discard", "rollback", "switch"}
    for name in re.findall(r"`([a-z_]+(?:/[a-z_]+)*)/?`", page):
        assert name in modules | tables | methods | {"tests/contracts", "benchmarks"}, name


def test_all_is_what_is_public():
    """`__all__` lists every public name of the package, sorted; each is where type checkers see it, too."""
    tree = ast.parse((SOURCE / "__init__.py").read_text(encoding="utf-8"))
    (for_types,) = (node for node in tree.body if isinstance(node, ast.If))
    raised = {name for name, kind in vars(errors).items() if inspect.isclass(kind)}
    seen = dict.fromkeys(raised, errors.__name__)
    seen |= {name.name: node.module for node in for_types.body for name in node.names}
    assert zibaldone.__all__ == sorted(zibaldone.__all__) == sorted(seen)
    for name, module in seen.items():
        assert getattr(zibaldone, name) is getattr(sys.modules[module], name)
    assert set(zibaldone.__all__) <= set(dir(zibaldone))
    with pytest.raises(AttributeError, match="no attribute 'Memoir'"):
        zibaldone.Memoir  # noqa: B018


def test_imports_go_downwards():
    """A file imports of its own layer or of those below, never of one above."""
    upwards = [
        f"{'.'.join(place(path))} imports {'.'.join(other)}"
        for path in MODULES
        for other in imported(path)
        if (mine := top(place(path))) and LAYER[top(other)] > LAYER[mine]
    ]
    assert upwards == []


def test_packages_do_not_go_in_circles():
    """Inside a layer too, imports have one direction."""
    graph = {}
    for path in MODULES:
        if mine := top(place(path)):
            graph.setdefault(mine, set()).update(top(other) for other in imported(path))
    for name, others in graph.items():
        others.discard(name)
        others.discard("")
    assert list(TopologicalSorter(graph).static_order())


def test_modules_do_not_go_in_circles():
    """Inside a package too: no module imports another that imports it, by whatever way round."""
    modules = {place(path) for path in MODULES}
    graph = {place(path): set(imported(path)) & modules - {place(path)} for path in MODULES if place(path)}
    assert list(TopologicalSorter(graph).static_order())


def test_a_class_name_is_used_once():
    """Whoever reads a class's name knows which class it is; private helpers of a module are its own."""
    defined = {}
    for path in MODULES:
        for node in nodes(path):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                defined.setdefault(node.name, []).append(".".join(place(path)))
    assert {name: places for name, places in defined.items() if len(places) > 1} == {}


# Their docstrings are in the schema that models are sent, and in recordings.
SENT_TO_MODELS = {("views/hierarchy/tasks.py", "Expected"), ("views/notes/tasks.py", "Taken")}


def test_docstrings_say_what_a_thing_is_or_does():
    """They begin with a noun or a verb, and not with a relative clause."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    riddles = {
        (path.relative_to(SOURCE).as_posix(), getattr(node, "name", ""))
        for path in MODULES
        for node in nodes(path)
        if isinstance(node, documented) and re.match(r"(What|Whether|Of) ", ast.get_docstring(node) or "")
    }
    assert riddles == SENT_TO_MODELS


# Words that name nothing: good for a line, such as `[len(one) for one in texts]`, and for no longer.
EMPTY_WORDS = {"one", "found", "said", "asked", "told"}
STORED = {("recall/ask.py", "asked")}  # names of a protocol, or of what is stored, which stay as they are
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, *COMPREHENSIONS)


def bound_in(node: ast.AST) -> Iterator[str]:
    """The names that a scope itself binds; what scopes inside it bind is theirs."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.arg):
            yield child.arg
        elif isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
            yield child.id
        elif isinstance(child, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and child.name:
            yield child.name
        if not isinstance(child, (*SCOPES, ast.ClassDef)):
            yield from bound_in(child)


def names_in(path: Path) -> set[str]:
    """Whatever a file binds or mentions by a name: a small part of `outliving`, for most files enough."""
    kinds = ("id", "arg", "attr", "name")  # of names, arguments, attributes, and all that is defined
    return {
        value for node in nodes(path) for kind in kinds if isinstance(value := getattr(node, kind, None), str)
    }


def lines_of(name: str, scope: ast.AST) -> set[int]:
    """Where a scope mentions a name."""
    return {
        node.lineno
        for node in ast.walk(scope)
        if (isinstance(node, ast.Name) and node.id == name)
        or (isinstance(node, ast.arg) and node.arg == name)
        or (isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name == name)
    }


def outliving(tree: ast.Module) -> Iterator[str]:
    """The empty words that name a function, an attribute, or what is mentioned on several lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from {node.name} & EMPTY_WORDS
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield from {node.attr} & EMPTY_WORDS
        if isinstance(node, ast.Module | ast.ClassDef):
            yield from EMPTY_WORDS.intersection(bound_in(node))
        elif isinstance(node, SCOPES):
            for name in EMPTY_WORDS.intersection(bound_in(node)):
                if len(lines_of(name, node)) > 1:
                    yield name


def test_what_outlives_a_line_is_called_by_what_it_is():
    """`one`, `found`, `said`, `asked` and `told` tell nobody what they hold two lines further down."""
    empty = {
        (path.relative_to(SOURCE).as_posix(), name)
        for path in MODULES
        if EMPTY_WORDS & names_in(path)
        for name in outliving(parsed(path))
    }
    assert empty == STORED


def test_the_vocabulary_imports_no_sibling():
    """Core and errors.py stand on their own."""
    assert list(imported(SOURCE / "core" / "__init__.py")) == []
    assert list(imported(SOURCE / "errors.py")) == []


def test_views_never_import_each_other():
    """A view knows itself and what all views share, the modules beside the packages; not its neighbours."""
    shared = {path.stem for path in SOURCE.glob("views/*.py")}
    for path in MODULES:
        parts = place(path)
        if parts[:1] == ("views",) and len(parts) > 1:
            others = {other[1] for other in imported(path) if other[:1] == ("views",) and len(other) > 1}
            assert others <= {parts[1], *shared}, path


def test_importers_know_only_the_vocabulary():
    """An importer stands on core, errors, text and the border of the log where messages come in."""
    for path in SOURCE.glob("importers/*.py"):
        known = {".".join(other) if top(other) == "log" else top(other) for other in imported(path)}
        assert known <= {"importers", "core", "log.message_input", "errors", "text"}, path


# Where processes are started, and by what: Python by `child_process` alone.
STARTED = {
    ("core/child_process.py", "subprocess.Popen"),
    ("api/settings.py", "subprocess.run"),  # the command that prints a key
    ("cli/installing.py", "subprocess.run"),  # another program's own command, which installs a plugin
}
OF_PROCESSES = ("subprocess", "multiprocessing", "pty", "concurrent.futures.process")
STARTERS = re.compile(
    r"(?:asyncio\.(?:subprocess\.)?create_subprocess_\w+|os\.(?:exec|fork|popen|posix_spawn|spawn|startfile|system)\w*"
    r"|(?:concurrent\.)?futures\.ProcessPoolExecutor|.*\.subprocess_(?:exec|shell)"
    r"|subprocess\.(?:Popen|run|call|check_\w+|get\w+output)|(?:multiprocessing|pty)(?:\.\w+)*)"
)


def starts(tree: ast.Module) -> Iterator[str]:
    """The names by which a file starts processes, or may: calls, and imports that hide where they lead."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and STARTERS.fullmatch(name := ast.unparse(node.func)):
            yield name
        elif isinstance(node, ast.Import):
            yield from (
                alias.name
                for alias in node.names
                if alias.name.startswith(OF_PROCESSES) and (alias.asname or alias.name != "subprocess")
            )
        elif isinstance(node, ast.ImportFrom):
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (name for name in names if name.startswith(OF_PROCESSES) or STARTERS.fullmatch(name))


def test_python_is_started_in_one_place():
    """`child_process` keeps a child from the working folder and the environment: nobody else starts one."""
    places = {
        (path.relative_to(SOURCE).as_posix(), name) for path in MODULES for name in starts(parsed(path))
    }
    assert places == STARTED


# The most lines that each package may have: `.` is the modules at the root, `views` those that all views
# share. A commit that takes lines away lowers its number; one that raises a number says why.
CEILINGS = {
    ".": 264,
    "adapters": 1_494,
    "api": 3_774,
    "cli": 3_526,
    "core": 911,
    "engine": 3_494,
    "importers": 3_094,
    "log": 2_348,
    "models": 2_354,
    "recall": 1_692,
    "search": 2_274,
    "server": 7_466,
    "storage": 4_242,
    "testing": 237,
    "text": 1_842,
    "views": 1_803,
    "views/chunks": 2_791,
    "views/hierarchy": 2_877,
    "views/kvcache": 3_622,
    "views/messages": 212,
    "views/notes": 1_914,
    "views/topics": 4_583,
}
TESTS_CEILING = 41_240


def lines_in(path: Path) -> int:
    """The lines of a file."""
    return len(path.read_text(encoding="utf-8").splitlines())


def package(path: Path) -> str:
    """The package that a file's lines are counted in: `views` counts each view by itself."""
    parts = path.relative_to(SOURCE).parts
    return "/".join(parts[: 2 if parts[0] == "views" else 1][: len(parts) - 1]) or "."


def test_no_package_outgrows_its_ceiling():
    """Each package stays within its number of lines, and every package has one."""
    sizes: Counter[str] = Counter()
    for path in MODULES:
        sizes[package(path)] += lines_in(path)
    assert {name: n for name, n in sizes.items() if n > CEILINGS.get(name, 0)} == {}
    assert CEILINGS.keys() == sizes.keys()


def test_the_tests_stay_within_their_ceiling():
    """Tests are code that somebody reads: they follow what they test when that goes."""
    assert sum(lines_in(path) for path in Path(__file__).parent.rglob("*.py")) <= TESTS_CEILING


@pytest.mark.parametrize("folder", ["src", "docs"])
def test_no_file_names_a_path_of_somebody_s_machine(folder):
    """Neither absolute paths of a home or a workplace, nor ways out of the repository."""
    pattern = re.compile(r"(?<![\w.~>/])/(?:home|root|Users|tmp|mnt|work\w*)/\w|(?<!\.)\.\./\w|[A-Z]:\\\w")
    for path in (ROOT / folder).rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            content = path.read_bytes()
            text = "" if b"\0" in content else content.decode("utf-8")
            assert not pattern.search(text), f"{path}: {pattern.search(text)}"


def test_the_contracts_that_every_view_keeps_are_there():
    """`make test` runs these by their names: one that is called otherwise would be left out unnoticed."""
    folder = Path(__file__).parent / "contracts"
    given = {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in parsed(folder / "conftest.py").body
        if isinstance(node, ast.Assign) and node.targets[0].id in ("_ESSENTIAL", "_LONG")
    }
    tests = [
        node.name
        for path in folder.glob("test_views_*.py")
        for node in parsed(path).body
        if isinstance(node, ast.FunctionDef)
    ]
    assert set(given["_ESSENTIAL"]) <= set(tests)
    assert all(any(name.startswith(start) for name in tests) for start in given["_LONG"])


def test_the_package_says_that_it_is_typed():
    """Type checkers of users read our annotations."""
    assert (SOURCE / "py.typed").is_file()


def test_the_version_is_that_of_the_project():
    """What the package says and what pip installs is one version."""
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'version = "{zibaldone.__version__}"' in project


def test_every_import_is_declared():
    """Whatever the package imports is in its dependencies, so that a clean installation has it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {name: needs for name, needs in project["optional-dependencies"].items() if name != "dev"}
    declared = [*project["dependencies"], *(need for needs in extras.values() for need in needs)]
    names = {re.match(r"[\w.-]+", one)[0].lower().replace("_", "-") for one in declared}
    distributions = packages_distributions()
    for path in MODULES:
        for module in {name.split(".")[0] for name in imports(path)} - {"zibaldone", "__future__"}:
            if module not in sys.stdlib_module_names:
                found = {name.lower().replace("_", "-") for name in distributions.get(module, [module])}
                assert found & names, f"{path.name} imports {module}, which is not declared"
