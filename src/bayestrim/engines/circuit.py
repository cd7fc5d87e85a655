"""The circuit engine: the network compiled into a sentential decision diagram, which gives the joint table.

This is the paper's way of computing, by way of PySDD (extra ``sdd``). The circuit of a network is small where its
tables are deterministic or repeat few values, even where the network itself is tangled. Each node is evaluated once,
for all instances of the features below it at the same time: as an array with one axis for each of them.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bayestrim.classifier import Classifier
from bayestrim.elimination import plan_elimination
from bayestrim.engines.encoding import Encoding, encode
from bayestrim.engines.table import TableEngine
from bayestrim.errors import MissingPackageError, TooLargeError
from bayestrim.inference import known_states
from bayestrim.memory import check_memory
from bayestrim.network import BayesianNetwork, FloatArray

MOST_NODES = 2_000_000
"""Circuits that grow beyond so many nodes while they are compiled are given up."""
MOST_SECONDS = 300.0
"""Compilations that take longer are given up."""
GARBAGE = 2
"""Dead nodes are swept up when they are so many times as many as the live ones."""

Tree = int | tuple["Tree", "Tree"]
"""A vtree: a Boolean, or two vtrees."""


@dataclass(frozen=True)
class Element:
    """One way in which a decision node can be true.

    Attributes
    ----------
    prime, sub
        The nodes that must both be true.
    scale
        How often what neither of them mentions doubles the sum.
    """

    prime: int
    sub: int
    scale: float


@dataclass(frozen=True)
class Circuit:
    """A compiled network.

    Attributes
    ----------
    encoding
        What its Booleans mean.
    literals
        The literal of each node that is one.
    decisions
        The elements of each other node, children before parents; the root comes last.
    scale
        How often what the root does not mention doubles the sum.
    size
        Its number of elements, as PySDD counts them.
    seconds
        How long it took to compile.
    """

    encoding: Encoding
    literals: Mapping[int, int]
    decisions: Mapping[int, tuple[Element, ...]]
    scale: float
    size: int
    seconds: float

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return len(self.literals) + len(self.decisions)


def compile_circuit(
    classifier: Classifier, *, features_first: bool = False, nodes: int = MOST_NODES, seconds: float = MOST_SECONDS
) -> Circuit:
    """Compile the part of a classifier's network that matters to it.

    Parameters
    ----------
    classifier
        The classifier.
    features_first
        Whether the vtree puts all features before everything else, as the paper's does. The circuit is then a decision
        diagram of the instances on top, mostly many times larger; otherwise the vtree follows an elimination order.
    nodes, seconds
        When to give up. Both are looked at after each table, so that one table may overshoot them.

    Raises
    ------
    TooLargeError
        If the circuit grows beyond its limits.
    MissingPackageError
        If PySDD is not installed.
    """
    sdd = _pysdd()
    network = classifier.network
    relevant = network.ancestors([classifier.target, *classifier.features, *classifier.evidence])
    names = [name for name in network.topological_order if name in relevant]
    encoding = encode(network, names)
    features = [name for name in classifier.features if len(network.variable(name)) > 1]
    tree = _vtree(encoding, network, names, features if features_first else [])
    start = time.monotonic()
    manager = sdd.SddManager.from_vtree(_to_pysdd(sdd, tree))
    manager.auto_gc_and_minimize_off()
    order = [name for name in names if name not in features] if features_first else names
    order = [*reversed(order), *(reversed(features) if features_first else ())]
    root = _conjoin(manager, [encoding.clauses[name] for name in order], start, nodes, seconds)
    hidden = [n for n in names if n not in (classifier.target, *classifier.features, *classifier.evidence)]
    doubled = {boolean for name in hidden for boolean in encoding.of_states(name)}
    return _read(manager, root, encoding, doubled, start)


def _pysdd() -> Any:
    try:
        from pysdd import sdd  # noqa: PLC0415  (an extra, needed only here)
    except ImportError:
        raise MissingPackageError("the circuit engine needs PySDD: pip install 'bayestrim[sdd]'") from None
    return sdd


def _vtree(encoding: Encoding, network: BayesianNetwork, names: Sequence[str], first: Sequence[str]) -> Tree:
    """Return a vtree that puts some variables first, and the others as an order of elimination has them.

    A variable stands above all tables that it shares with variables eliminated before it, so that below it, these are
    independent of the rest.
    """
    number = {name: i for i, name in enumerate(names)}
    sizes = {i: len(network.variable(name)) for name, i in number.items()}
    families = [(*network.parents(name), name) for name in names]
    scopes = [{number[member] for member in family if member not in first} for family in families]
    waiting = [(scope, _balanced(encoding.values[name])) for scope, name in zip(scopes, names, strict=True)]
    for variable in plan_elimination(scopes, sizes, ()).order:
        below = [tree for scope, tree in waiting if variable in scope]
        joined = set[int]().union(*(scope for scope, _ in waiting if variable in scope)) - {variable}
        waiting = [(scope, tree) for scope, tree in waiting if variable not in scope]
        waiting.append((joined, _above(encoding.of_states(names[variable]), _balanced(below))))
    tree = _balanced([tree for _, tree in waiting])
    return _above([boolean for name in first for boolean in encoding.of_states(name)], tree)


def _balanced(trees: Sequence[Tree]) -> Tree:
    middle = len(trees) // 2
    return trees[0] if len(trees) == 1 else (_balanced(trees[:middle]), _balanced(trees[middle:]))


def _above(booleans: Sequence[int], tree: Tree) -> Tree:
    for boolean in reversed(booleans):
        tree = (boolean, tree)
    return tree


def _to_pysdd(sdd: Any, tree: Tree) -> Any:
    """Hand a vtree to PySDD, which takes it from a file."""
    lines: list[str] = []
    found: list[int] = []
    waiting: list[tuple[Tree, bool]] = [(tree, False)]
    while waiting:  # a vtree may be deeper than Python's stack
        node, done = waiting.pop()
        if isinstance(node, int):
            lines.append(f"L {len(lines)} {node}")
        elif done:
            right, left = found.pop(), found.pop()
            lines.append(f"I {len(lines)} {left} {right}")
        else:
            waiting += [(node, True), (node[1], False), (node[0], False)]
            continue
        found.append(len(lines) - 1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tree.vtree"
        path.write_text("\n".join([f"vtree {len(lines)}", *lines, ""]), encoding="ascii")
        return sdd.Vtree.from_file(str(path))


def _conjoin(manager: Any, tables: Sequence[Sequence[Sequence[int]]], start: float, nodes: int, seconds: float) -> Any:
    """Return the conjunction of all clauses, table by table."""
    root = manager.true()
    for count, clauses in enumerate(tables):
        table = manager.true()
        for clause in sorted(clauses, key=len):
            table = table & _disjunction(manager, clause)
        table.ref()
        before, root = root, root & table
        root.ref()
        before.deref()
        table.deref()
        if manager.dead_count() > GARBAGE * manager.live_count():
            manager.garbage_collect()
        _check(manager.live_count(), time.monotonic() - start, nodes, seconds, f"{count + 1} of {len(tables)} tables")
    return root


def _disjunction(manager: Any, clause: Sequence[int]) -> Any:
    result = manager.false()
    for literal in clause:
        result = result | manager.literal(literal)
    return result


def _check(live: int, took: float, nodes: int, seconds: float, done: str) -> None:
    instead = "use engine='table' or 'sampled', or give the classifier fewer features"
    if live > nodes:
        raise TooLargeError(f"the circuit has {live:,} nodes after {done}, and {nodes:,} are allowed; {instead}")
    if took > seconds:
        raise TooLargeError(f"the circuit took {took:.0f} s for {done}, and {seconds:g} are allowed; {instead}")


def _read(manager: Any, root: Any, encoding: Encoding, doubled: set[int], start: float) -> Circuit:
    """Take a circuit out of PySDD: nodes below the root, each with what is true of what it does not mention."""
    gaps = _Gaps(doubled, manager.vtree())
    literals: dict[int, int] = {}
    decisions: dict[int, tuple[Element, ...]] = {}
    for node in _bottom_up(root):
        if node.is_literal():
            literals[node.id] = node.literal
        elif node.is_true():
            decisions[node.id] = ()
        else:
            vtree = node.vtree()
            left, right = vtree.left(), vtree.right()
            decisions[node.id] = tuple(
                Element(prime.id, sub.id, gaps.between(left, prime) * gaps.between(right, sub))
                for prime, sub in node.elements()
                if not sub.is_false()
            )
    scale = gaps.between(manager.vtree(), root)
    return Circuit(encoding, literals, decisions, scale, root.size(), time.monotonic() - start)


def _bottom_up(root: Any) -> Iterator[Any]:
    """Yield all nodes that can be true together with their siblings, children before parents."""
    seen: set[int] = set()
    waiting = [(root, False)]
    while waiting:
        node, ready = waiting.pop()
        if ready:
            yield node
        elif node.id not in seen:
            seen.add(node.id)
            waiting.append((node, True))
            if node.is_decision():
                pairs = [pair for pair in node.elements() if not pair[1].is_false()]
                waiting += [(child, False) for pair in pairs for child in pair if child.id not in seen]


class _Gaps:
    """How many models there are of the hidden variables between a vtree and a node that mentions only part of it."""

    def __init__(self, doubled: set[int], root: Any) -> None:
        self._count: dict[int, int] = {}
        waiting = [(root, False)]
        while waiting:
            vtree, ready = waiting.pop()
            if vtree.is_leaf():
                self._count[vtree.position()] = int(vtree.var() in doubled)
            elif ready:
                below = (self._count[vtree.left().position()], self._count[vtree.right().position()])
                self._count[vtree.position()] = sum(below)
            else:
                waiting += [(vtree, True), (vtree.left(), False), (vtree.right(), False)]

    def between(self, vtree: Any, node: Any) -> float:
        """Return the number of models."""
        mentioned = None if node.is_true() or node.is_false() else node.vtree()
        free = self._count[vtree.position()] - (0 if mentioned is None else self._count[mentioned.position()])
        return math.ldexp(1.0, free)


def joint_of(circuit: Circuit, classifier: Classifier, memory: int | None = None) -> FloatArray:
    """Return Pr(positive or negative, features, evidence) from a classifier's circuit, as [2, states of each feature…].

    Features of one state have an axis of length 1.

    Raises
    ------
    TooLargeError
        Before anything is allocated, if the arrays need more than `memory`.
    """
    return _Evaluation(circuit, classifier).run(memory)


class _Evaluation:
    """One evaluation of a circuit: axis 0 is the class, positive first, and the others are the features."""

    def __init__(self, circuit: Circuit, classifier: Classifier) -> None:
        self._circuit = circuit
        self._network = classifier.network
        self._shape = (2, *(len(variable) for variable in classifier.feature_variables))
        self._axis = {name: i + 1 for i, name in enumerate(classifier.features)}
        self._sides = np.stack([classifier.positive_states, ~classifier.positive_states]).astype(float)
        self._target = classifier.target
        self._evidence = known_states(self._network, self._target, classifier.evidence_codes)
        self._weights = self._literal_weights()

    def _literal_weights(self) -> dict[int, FloatArray]:
        """Return what each literal weighs. Those that are not listed weigh 1: of many states, the true one says all."""
        none = np.ones([1] * len(self._shape))
        found = {boolean: none * weight for boolean, weight in self._circuit.encoding.weights.items()}
        for name, literals in self._circuit.encoding.states.items():
            for state, literal in enumerate(literals):
                found[literal] = self._weight(name, state)
        return found

    def _weight(self, name: str, state: int) -> FloatArray:
        """Return where a variable is in a state, along its axis if it has one."""
        shape = [1] * len(self._shape)
        if name in self._evidence:
            return np.full(shape, float(self._evidence[name] == state))
        if name == self._target:
            return self._sides[:, state].reshape(-1, *shape[1:])
        if name not in self._axis:
            return np.ones(shape)
        axis = self._axis[name]
        shape[axis] = self._shape[axis]
        weight = np.zeros(shape)
        np.moveaxis(weight, axis, 0)[state] = 1.0
        return weight

    def _one(self) -> FloatArray:
        return np.ones([1] * len(self._shape))

    def run(self, memory: int | None) -> FloatArray:
        """Evaluate all nodes; a node's array is let go as soon as its last parent is done."""
        circuit = self._circuit
        uses = self._uses()
        check_memory(self._peak(dict(uses)), f"the circuit's arrays over {len(self._axis)} features", memory)
        values = {node: self._weights.get(literal, self._one()) for node, literal in circuit.literals.items()}
        last = next(reversed(values), None)
        for node, elements in circuit.decisions.items():
            values[node] = self._sum(values, elements) if elements else self._one()
            for element in elements:
                for child in (element.prime, element.sub):
                    uses[child] -= 1
                    if not uses[child]:
                        del values[child]
            last = node
        assert last is not None
        return np.broadcast_to(values[last] * circuit.scale, self._shape)

    def _sum(self, values: Mapping[int, FloatArray], elements: Sequence[Element]) -> FloatArray:
        total: FloatArray | None = None
        for element in elements:
            term = values[element.prime] * values[element.sub]
            if element.scale != 1:
                term *= element.scale
            total = term if total is None else total + term
        assert total is not None
        return total

    def _uses(self) -> dict[int, int]:
        uses: dict[int, int] = {}
        for elements in self._circuit.decisions.values():
            for element in elements:
                for child in (element.prime, element.sub):
                    uses[child] = uses.get(child, 0) + 1
        return uses

    def _peak(self, uses: dict[int, int]) -> int:
        """Return how many numbers the arrays hold at once, at most, without making them."""
        shapes = {node: self._weights.get(lit, self._one()).shape for node, lit in self._circuit.literals.items()}
        held = peak = sum(math.prod(shape) for shape in shapes.values())
        for node, elements in self._circuit.decisions.items():
            children = [child for element in elements for child in (element.prime, element.sub)]
            shapes[node] = (
                np.broadcast_shapes(*(shapes[child] for child in children)) if children else self._one().shape
            )
            size = math.prod(shapes[node])
            held += size
            peak = max(peak, held + 2 * size)  # a term, and the sum that takes it up
            for child in children:
                uses[child] -= 1
                if not uses[child]:
                    held -= math.prod(shapes[child])
        return peak


class CircuitEngine(TableEngine):
    """Exact answers from the joint table that a compiled circuit gives.

    Parameters
    ----------
    classifier
        The classifier all questions are about.
    """

    name = "circuit"

    def _joint(self, classifier: Classifier) -> FloatArray:
        asked = Classifier(
            classifier.network, classifier.target, classifier.positive, self.features, evidence=classifier.evidence
        )
        return joint_of(compile_circuit(asked), asked, self.memory)
