import { VALUE_DEPTH_MAX } from '../limits.ts'
import { LimitExceeded } from '../value/limit-reached.ts'
import { isArray, type ObjectValue, SetBuilder, SetValue, type Value } from '../value/value.ts'
import { define, type Builtin, type CallContext } from './builtin.ts'
import { membersOf } from './operand.ts'

const NODES = ['array', 'set'] as const

export const GRAPH_BUILTINS: readonly Builtin[] = [
  define(
    { name: 'graph.reachable', operands: ['object', NODES], result: 'set' },
    (context, graph, initial) => {
      const reached = new SetBuilder()
      const waiting = [...membersOf(initial)]
      for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
        const edges = graph.get(node)
        context.charge(1)
        if (edges === undefined || reached.has(node)) continue
        reached.add(node)
        const neighbours = neighboursOf(edges)
        context.charge(neighbours.length)
        for (const neighbour of neighbours) if (!reached.has(neighbour)) waiting.push(neighbour)
      }
      return reached.build()
    },
  ),
  define(
    { name: 'graph.reachable_paths', operands: ['object', NODES], result: 'set' },
    (context, graph, initial) => {
      const search: Search = { context, graph, found: new SetBuilder(), passed: new SetBuilder() }
      for (const node of membersOf(initial))
        if (graph.has(node)) extend(search, [node], neighboursOf(graph.get(node)))
      return search.found.build()
    },
  ),
]

/** A node with anything else for edges has none. */
function neighboursOf(edges: Value | undefined): readonly Value[] {
  if (isArray(edges)) return edges
  return edges instanceof SetValue ? edges.sorted() : []
}

interface Search {
  readonly context: CallContext
  readonly graph: ObjectValue
  readonly found: SetBuilder
  /** The nodes of the path so far. */
  readonly passed: SetBuilder
}

/** A path ends at a node without edges, at a circle, and in front of a strange node. */
function extend(search: Search, path: readonly Value[], neighbours: readonly Value[]): void {
  const { context, graph, found, passed } = search
  context.charge(path.length)
  if (path.length > VALUE_DEPTH_MAX) throw new LimitExceeded('a path of the graph is too long')
  if (neighbours.length === 0) {
    found.add(path)
    return
  }
  const node = path.at(-1) ?? null
  passed.add(node)
  for (const neighbour of neighbours) {
    if (passed.has(neighbour) || !graph.has(neighbour)) found.add(path)
    else extend(search, [...path, neighbour], neighboursOf(graph.get(neighbour)))
  }
  passed.delete(node)
}
