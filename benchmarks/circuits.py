"""Circuits beside tables on the 24 public networks: ``python -m benchmarks.circuits [--quick] [NETWORK…]``.

The class is the root of two states (or the root, where none has two) with most leaves below it, the features are such
leaves, as many as fit in some bits; where the circuit of those does not compile, one leaf with as small a network above
it as there is is tried too. Each engine makes the joint table of class and features in a process of its own,
with limits on time and memory, and says how long it took and how much memory it needed beyond starting up. ``first``
is the circuit under the paper's vtree, which puts the features before everything else.
"""

from __future__ import annotations

import json
import math
import resource
import subprocess
import sys
import tempfile
import time
from typing import Any

import numpy as np

import bayestrim as bt
from benchmarks.models import model_files

BITS, QUICK_BITS = 16.0, 10.0
SECONDS = {"circuit": 60.0, "first": 20.0, "table": 60.0}
"""When each engine gives up."""
GRACE = 60.0
"""A process that does not notice its limit by itself is ended after so many seconds more."""
GIBIBYTES = 8
"""The address space of each process."""
QUICK = ("asia", "cancer", "earthquake", "sachs", "survey", "child", "alarm", "win95pts", "insurance")


def classifier_of(name: str, bits: float) -> bt.Classifier:
    """Return a network's classifier; of no bits at all, the one with the least to compile."""
    network = bt.read_network(model_files()[name])
    if not bits:
        return least_classifier(network)
    roots = [root for root in network.roots if len(network.variable(root)) == 2] or list(network.roots)
    above = {leaf: network.ancestors([leaf]) for leaf in network.leaves}
    target = max(roots, key=lambda root: sum(root in found for found in above.values()))
    features, left = [], bits
    for leaf, found in above.items():
        size = math.log2(len(network.variable(leaf)))
        if leaf != target and 0 < size <= left and target in found:
            features.append(leaf)
            left -= size
    return bt.Classifier(network, target, network.states(target)[0], features)


def least_classifier(network: bt.BayesianNetwork) -> bt.Classifier:
    """Return a classifier of one leaf by a root, with as few probabilities between them as possible."""
    choices = []
    for leaf in network.leaves:
        above = network.ancestors([leaf]) | {leaf}
        size = sum(network.table(name).size for name in above)
        choices += [(size, root, leaf) for root in network.roots if root in above - {leaf}]
    _, root, leaf = min(choices)
    return bt.Classifier(network, root, network.states(root)[0], [leaf])


def measure(engine: str, name: str, bits: float, path: str) -> dict[str, Any]:
    """Make one table, in this process, and leave it in a file."""
    from bayestrim.engines.circuit import compile_circuit, joint_of  # noqa: PLC0415
    from bayestrim.inference import joint_table  # noqa: PLC0415

    classifier = classifier_of(name, bits)
    states = classifier.positive_states
    joint_table(classifier.network, classifier.target, [], {})
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    found: dict[str, Any] = {"bits": round(feature_bits(classifier), 1), "features": len(classifier.features)}
    if engine == "table":
        joint = joint_table(classifier.network, classifier.target, classifier.features, {})
        sides = np.stack([joint[states].sum(axis=0), joint[~states].sum(axis=0)])
    else:
        circuit = compile_circuit(classifier, features_first=engine == "first", seconds=SECONDS[engine])
        found |= {"nodes": circuit.nodes, "clauses": circuit.encoding.size, "compile": round(circuit.seconds, 2)}
        sides = joint_of(circuit, classifier)
    found["seconds"] = round(time.perf_counter() - start, 2)
    found["megabytes"] = round((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
    np.save(path, sides)
    return found


def feature_bits(classifier: bt.Classifier) -> float:
    """Return the size of the feature space as a power of two."""
    return sum(math.log2(len(variable)) for variable in classifier.feature_variables)


def in_a_process(engine: str, name: str, bits: float, folder: str) -> dict[str, Any]:
    """Make one table in a process of its own; a process that fails says why in one word."""
    path = f"{folder}/{engine}.npy"
    command = [sys.executable, "-m", "benchmarks.circuits", "--one", engine, name, str(bits), path]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=SECONDS[engine] + GRACE, check=False, preexec_fn=_limited
        )
    except subprocess.TimeoutExpired:
        return {"fails": "time"}
    if done.returncode == 0:
        found: dict[str, Any] = json.loads(done.stdout)
        return found | {"table": np.load(path)}
    message = done.stderr.strip().splitlines()[-1] if done.stderr.strip() else ""
    words = {"clauses": "clauses", "nodes after": "nodes", " s for ": "time", "GiB": "memory"}
    return {"fails": next((short for text, short in words.items() if text in message), "memory")}


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (GIBIBYTES << 30, GIBIBYTES << 30))


def compared(name: str, bits: float) -> dict[str, dict[str, Any]]:
    """Return what each engine says about a network."""
    with tempfile.TemporaryDirectory() as folder:
        return {engine: in_a_process(engine, name, bits, folder) for engine in SECONDS}


def line(name: str, found: dict[str, dict[str, Any]]) -> str:
    """Return what all engines say about a network, and how far their tables are apart."""
    circuit, first, table = (found[engine] for engine in ("circuit", "first", "table"))
    known: dict[str, Any] = next((one for one in found.values() if "bits" in one), {})
    apart = ""
    if "table" in circuit and "table" in table:
        apart = f"{np.abs(circuit['table'] - table['table']).max():.0e}"

    def of(one: dict[str, Any], *keys: str) -> str:
        if "fails" in one:
            return f"{one['fails']:>{9 * len(keys) - 1}}"
        return " ".join(f"{one[key]:8}" for key in keys)

    return (
        f"{name:11} {known.get('features', ''):>8} {known.get('bits', ''):>5} | {of(circuit, 'nodes', 'compile')} "
        f"{of(circuit, 'seconds', 'megabytes')} | {of(first, 'nodes', 'seconds', 'megabytes')} | "
        f"{of(table, 'seconds', 'megabytes')} | {apart:>6}"
    )


def main() -> None:
    """Print a line for each network."""
    words = sys.argv[1:]
    if words[:1] == ["--one"]:
        print(json.dumps(measure(words[1], words[2], float(words[3]), words[4])))
        return
    quick = "--quick" in words
    names = [word for word in words if not word.startswith("-")] or (QUICK if quick else list(model_files()))
    print(f"{'':26} | {'circuit':^35} | {'features first':^26} | {'table':^17} |")
    parts = ("nodes", "comp. s", "all s", "MB", "nodes", "all s", "MB", "s", "MB")
    headings = [f"{part:>8}" for part in parts]
    print(
        f"{'network':11} features  bits | {' '.join(headings[:4])} | {' '.join(headings[4:7])} | "
        f"{' '.join(headings[7:])} |  apart"
    )
    for name in names:
        found = compared(name, QUICK_BITS if quick else BITS)
        print(line(name, found), flush=True)
        if "fails" in found["circuit"]:
            least = compared(name, 0.0)
            if least["table"].get("bits") != found["table"].get("bits"):
                print(line(name, least), flush=True)


if __name__ == "__main__":
    main()
