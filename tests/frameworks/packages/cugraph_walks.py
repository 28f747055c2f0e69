# cuGraph: algorithms of graphs from RAPIDS, over cuDF, against networkx and SciPy.
# package: cuGraph
# pip: cugraph-cu12 networkx scipy numpy
# cuda: 12
# what: PageRank, breadth first, shortest paths, components, k-core, triangles, HITS, Katz, betweenness, Jaccard, Louvain
# check: libcugraph/lib64/libcugraph.so
# limit: 1200
# parts: 3
# cpu: (networkx)
import numpy

import steps
from steps import step

NODES, EDGES = 200, 900


def drawn(numbers, weights=False):
    """An undirected graph without loops as two lists, and weights of its edges."""
    a, b = numbers.integers(0, NODES, EDGES), numbers.integers(0, NODES, EDGES)
    pairs = sorted({(min(x, y), max(x, y)) for x, y in zip(a.tolist(), b.tolist()) if x != y})
    a, b = numpy.array(pairs, "i4").T
    return a, b, numbers.uniform(1, 2, len(a)).astype("f4")


def graph(library, edges, directed=False):
    a, b, w = edges
    if not library:
        import networkx
        g = networkx.DiGraph() if directed else networkx.Graph()
        g.add_nodes_from(sorted(set(a.tolist()) | set(b.tolist())))
        g.add_weighted_edges_from(zip(a.tolist(), b.tolist(), w.tolist()))
        return g
    import cudf
    g = library.Graph(directed=directed)
    g.from_cudf_edgelist(cudf.DataFrame({"a": a, "b": b, "w": w}), source="a", destination="b", edge_attr="w")
    return g


def column(frame, name):
    """A result's column in the order of its vertices."""
    frame = frame.to_pandas().sort_values("vertex")
    return frame[name].to_numpy()


def values(result):
    return numpy.array([result[v] for v in sorted(result)])


@step(rtol=1e-3, atol=1e-6)
def pagerank(library, numbers):
    g = graph(library, drawn(numbers))
    if not library:
        import networkx
        return values(networkx.pagerank(g, tol=1e-9, max_iter=500))
    return column(library.pagerank(g, tol=1e-6, max_iter=500), "pagerank")


@step
def breadth_first(library, numbers):
    edges = drawn(numbers)
    g, start = graph(library, edges), int(edges[0][0])
    if not library:
        import networkx
        lengths = networkx.single_source_shortest_path_length(g, start)
        return numpy.array([lengths.get(v, 2 ** 31 - 1) for v in sorted(g)])
    return column(library.bfs(g, start), "distance")


@step(rtol=1e-5)
def shortest_paths(library, numbers):
    edges = drawn(numbers)
    g, start = graph(library, edges), int(edges[0][0])
    if not library:
        import networkx
        lengths = networkx.single_source_dijkstra_path_length(g, start)
        return numpy.array([lengths.get(v, numpy.finfo("f4").max) for v in sorted(g)], "f4")
    return column(library.sssp(g, start), "distance")


@step
def components(library, numbers):
    a, b, w = drawn(numbers)
    g = graph(library, (a[::4], b[::4], w[::4]))
    if not library:
        import networkx
        parts = sorted(networkx.connected_components(g), key=min)
        return numpy.array([next(i for i, p in enumerate(parts) if v in p) for v in sorted(g)])
    labels = column(library.connected_components(g), "labels")
    first = {label: i for i, label in enumerate(dict.fromkeys(labels.tolist()))}
    return numpy.array([first[label] for label in labels.tolist()])


@step
def cores_and_triangles(library, numbers):
    g = graph(library, drawn(numbers))
    if not library:
        import networkx
        return values(networkx.core_number(g)), values(networkx.triangles(g))
    return column(library.core_number(g), "core_number"), column(library.triangle_count(g), "counts")


@step(rtol=1e-3, atol=1e-5)
def hits(library, numbers):
    a, b, _ = drawn(numbers)
    g = graph(library, (a, b, numpy.ones(len(a), "f4")), directed=True)
    if not library:
        import networkx
        hubs, authorities = networkx.hits(g, max_iter=1000, tol=1e-10)
        return values(hubs), values(authorities)
    r = library.hits(g, max_iter=1000, tol=1e-7)
    return column(r, "hubs"), column(r, "authorities")


@step(rtol=1e-3, atol=1e-5)
def katz(library, numbers):
    a, b, _ = drawn(numbers)
    g = graph(library, (a, b, numpy.ones(len(a), "f4")))
    if not library:
        import networkx
        return values(networkx.katz_centrality(g, alpha=0.02, tol=1e-8, max_iter=1000, weight=None))
    return column(library.katz_centrality(g, alpha=0.02, tol=1e-7, max_iter=1000), "katz_centrality")


@step(rtol=1e-3, atol=1e-5)
def betweenness(library, numbers):
    a, b, _ = drawn(numbers)
    g = graph(library, (a, b, numpy.ones(len(a), "f4")))
    if not library:
        import networkx
        return values(networkx.betweenness_centrality(g))
    return column(library.betweenness_centrality(g), "betweenness_centrality")


@step(rtol=1e-4, atol=1e-6)
def jaccard(library, numbers):
    a, b, w = drawn(numbers)
    g = graph(library, (a, b, w))
    pairs = sorted(set(zip(numbers.integers(0, NODES, 50).tolist(), numbers.integers(0, NODES, 50).tolist())))
    known = set(a.tolist()) | set(b.tolist())
    pairs = [(x, y) for x, y in pairs if x != y and x in known and y in known]
    if not library:
        import networkx
        return numpy.array([c for _, _, c in networkx.jaccard_coefficient(g, pairs)])
    import cudf
    frame = cudf.DataFrame({"first": [p[0] for p in pairs], "second": [p[1] for p in pairs]}).astype("int32")
    r = library.jaccard(g, frame).to_pandas()
    found = {(x, y): c for x, y, c in zip(r["first"], r["second"], r["jaccard_coeff"])}
    return numpy.array([found[p] for p in pairs])


@step
def louvain(library, numbers):
    """Four cliques that hang together by single edges: any such method finds them."""
    pairs = [(8 * k + i, 8 * k + j) for k in range(4) for i in range(8) for j in range(i)]
    pairs += [(8 * k, (8 * k + 8) % 32) for k in range(4)]
    a, b = numpy.array(pairs, "i4").T
    if not library:
        return numpy.arange(32) // 8
    g = graph(library, (a, b, numpy.ones(len(a), "f4")))
    labels = column(library.louvain(g)[0], "partition").tolist()
    first = {label: i for i, label in enumerate(dict.fromkeys(labels))}
    return numpy.array([first[label] for label in labels])


def cuda():
    import cugraph
    return cugraph


if __name__ == "__main__":
    steps.main({"cpu": lambda: None, "cuda": cuda})
