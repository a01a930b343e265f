/** The shortest cycle through each knot of a directed graph, first node repeated at the end. */
export function findCycles(
  nodes: readonly string[],
  next: (node: string) => readonly string[],
): string[][] {
  return findKnots(nodes, next).map((knot) => shortestCycle(knot, next))
}

interface Visit {
  readonly order: number
  low: number
  isOpen: boolean
}

/** Tarjan's strongly connected components of more than one node, or one that points to itself. */
function findKnots(
  nodes: readonly string[],
  next: (node: string) => readonly string[],
): string[][] {
  const visits = new Map<string, Visit>()
  const open: string[] = []
  const knots: string[][] = []

  const visit = (node: string): Visit => {
    const mine: Visit = { order: visits.size, low: visits.size, isOpen: true }
    visits.set(node, mine)
    open.push(node)
    for (const child of next(node)) {
      const known = visits.get(child)
      if (known === undefined) mine.low = Math.min(mine.low, visit(child).low)
      else if (known.isOpen) mine.low = Math.min(mine.low, known.order)
    }
    if (mine.low === mine.order) {
      const knot = open.splice(open.indexOf(node))
      for (const member of knot) close(visits.get(member))
      if (knot.length > 1 || next(node).includes(node)) knots.push(knot.toSorted())
    }
    return mine
  }
  for (const node of nodes) if (!visits.has(node)) visit(node)
  return knots
}

function close(visit: Visit | undefined): void {
  if (visit !== undefined) visit.isOpen = false
}

/** Breadth first from the knot's first node back to itself. */
function shortestCycle(
  knot: readonly string[],
  next: (node: string) => readonly string[],
): string[] {
  const [start = ''] = knot
  const inside = new Set(knot)
  const reached = new Set<string>()
  let paths: string[][] = [[start]]
  while (paths.length > 0) {
    const longer: string[][] = []
    for (const path of paths)
      for (const child of next(path.at(-1) ?? start)) {
        if (child === start) return [...path, start]
        if (!inside.has(child) || reached.has(child)) continue
        reached.add(child)
        longer.push([...path, child])
      }
    paths = longer
  }
  return [...knot]
}
