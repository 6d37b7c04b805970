"""Index functions of document 003 against a brute-force search of the graph."""

import numpy as np
import pytest

from tiers import few
from zveno.errors import ModelError, ShapeError
from zveno.mechanism import Tree


def random_parents(seed, n=14):
    rng = np.random.default_rng(seed)
    return [-1] + [int(rng.integers(i)) for i in range(1, n)]


def visit(parents, k):
    """Depth-first order from link k, recursively, siblings by number."""
    order = [k]
    for i, p in enumerate(parents):
        if p == k:
            order += visit(parents, i)
    return order


def path(parents, i):
    """Ancestors from the root."""
    above = []
    while parents[i] != -1:
        i = parents[i]
        above.insert(0, i)
    return above


@pytest.mark.parametrize("seed", few(range(20), 4))
def test_index_functions(seed):
    parents = random_parents(seed)
    tree, n = Tree(parents), len(parents)
    for i in range(n):
        children = [j for j in range(n) if parents[j] == i]
        assert list(tree.children(i)) == children
        assert tree.out_degree(i) == len(children)
        for k, c in enumerate(children, start=1):
            assert tree.child(i, k) == c
            assert tree.sibling_rank(c) == k
            assert tree.parent(c) == i
        above = path(parents, i)
        assert tree.n_ancestors(i) == len(above)
        assert [tree.ancestor(i, j) for j in range(1, len(above) + 1)] == above
        assert tree.depth_first_number(i) == visit(parents, 0).index(i)
        assert tree.link_at(tree.depth_first_number(i)) == i
        below = visit(parents, i)
        assert list(tree.subtree(i)) == below
        assert tree.subtree_size(i) == len(below)
        for m, j in enumerate(below, start=1):
            assert tree.depth_first_number_from(i, j) == m
            assert tree.link_at_from(i, m) == j
        assert [j for j in range(n) if tree.reachability[j, i]] == sorted(below)
    assert set(tree.leaves) == set(range(n)) - set(parents)


def test_document_notation_is_in_the_docstrings():
    symbols = {
        "parent": "f(i)",
        "children": "Γ(i)",
        "out_degree": "dg⁺(i)",
        "child": "s(i, k)",
        "sibling_rank": "ns(i)",
        "n_ancestors": "nan(i)",
        "ancestor": "an(i, j)",
        "depth_first_number": "Dnum(i)",
        "link_at": "Dnum⁻¹(n)",
        "depth_first_number_from": "Dnum_k(i)",
        "reachability": "D:",
    }
    for name, symbol in symbols.items():
        assert getattr(Tree, name).__doc__.startswith(symbol)


@pytest.mark.parametrize(("parents", "words"), [([], "root"), ([0], "root"), ([-1, 2, 1], "link 1 has parent 2")])
def test_not_a_tree(parents, words):
    with pytest.raises(ModelError, match=words):
        Tree(parents)


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.parent(0),
        lambda t: t.parent(9),
        lambda t: t.child(0, 2),
        lambda t: t.ancestor(1, 2),
        lambda t: t.depth_first_number_from(2, 1),
        lambda t: t.link_at_from(1, 5),
        lambda t: t.children(-1),
    ],
)
def test_questions_without_an_answer(call):
    with pytest.raises(ShapeError):
        call(Tree([-1, 0, 1]))
