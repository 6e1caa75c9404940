"""What is measured: one folder per benchmark, each declared once (declaration.py). This is the registry."""

import importlib

from lm_eval_stereoset.benchmarks.declaration import Benchmark
from lm_eval_stereoset.errors import UserError

# name: the module whose BENCHMARK it is, imported when it is asked for
MODULES = {
    "stereoset": "lm_eval_stereoset.benchmarks.stereoset.declared",
    "stereoset_chat": "lm_eval_stereoset.benchmarks.stereoset_chat.declared",
    "genderswap": "lm_eval_stereoset.benchmarks.genderswap.declared",
    "gest": "lm_eval_stereoset.benchmarks.gest.declared",
    "eurogest": "lm_eval_stereoset.benchmarks.gest.declared_eurogest",
    "gest_chat": "lm_eval_stereoset.benchmarks.gest_chat.declared",
    "nli": "lm_eval_stereoset.benchmarks.nli.declared",
    "snli": "lm_eval_stereoset.benchmarks.snli.declared",
}
_REGISTERED: dict[str, Benchmark] = {}


def register(benchmark: Benchmark) -> None:
    """Makes a benchmark of another package known in this process."""
    _REGISTERED[benchmark.name] = benchmark


def names() -> tuple[str, ...]:
    return tuple(dict.fromkeys((*MODULES, *_REGISTERED)))


def find(name: str) -> Benchmark:
    if name in _REGISTERED:
        return _REGISTERED[name]
    if name not in MODULES:
        raise UserError(f"no benchmark {name!r}; the benchmarks are {', '.join(names())}")
    return importlib.import_module(MODULES[name]).BENCHMARK


def of_other_packages() -> tuple[Benchmark, ...]:
    return tuple(benchmark for name, benchmark in _REGISTERED.items() if name not in MODULES)


def registered() -> tuple[Benchmark, ...]:
    return tuple(map(find, names()))


def in_words(benchmark: Benchmark) -> tuple[Benchmark, ...]:
    """Those that ask in words about this benchmark's data."""
    return tuple(one for one in registered() if one.words and one.words.of == benchmark.name)


def data_of(benchmark: Benchmark, language: str) -> Benchmark:
    """Whose examples a benchmark's tasks in this language are about: its own, unless it asks in words."""
    return find(benchmark.words.data_of(language)) if benchmark.words else benchmark


def with_own_data() -> tuple[Benchmark, ...]:
    """Without those that ask in another way about the data of another one."""
    return tuple(benchmark for benchmark in registered() if benchmark.words is None)
