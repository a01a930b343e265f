import type { ExplainScope, PlacementReason, PlacementRefusal } from '@reeve/contract'
import type { Steps } from '@reeve/kit/slices.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import type { PublicNode } from '../../model/index.ts'
import { rounded } from '../rank/score.ts'
import { distanceOf } from './node-reasons.ts'

/** How many nodes of a refusal are named. */
const NODES_NAMED = 5

/** A node, and every reason it has. */
export interface RefusingNode {
  readonly node: PublicNode
  readonly reasons: readonly PlacementReason[]
  readonly distance: number
}

export function* refusingNodes(
  nodes: readonly PublicNode[],
  reasonsOf: (node: PublicNode) => readonly PlacementReason[],
): Steps<readonly RefusingNode[]> {
  const refusing: RefusingNode[] = []
  for (const node of nodes) {
    yield
    const reasons = reasonsOf(node)
    if (reasons.length > 0) refusing.push({ node, reasons, distance: distanceOf(reasons) })
  }
  return refusing.toSorted((a, b) => a.distance - b.distance || compareText(a.node.ID, b.node.ID))
}

/** Puts nodes together that refuse for the same reasons; the nearest to fitting come first. */
export function refusals(
  refusing: readonly RefusingNode[],
  scope: ExplainScope,
): readonly PlacementRefusal[] {
  const groups = new Map<string, RefusingNode[]>()
  for (const one of refusing) {
    const name = scope === 'node' ? one.node.ID : sameness(one)
    const others = groups.get(name)
    if (others === undefined) groups.set(name, [one])
    else others.push(one)
  }
  return [...groups.values()].flatMap((members) => {
    const [nearest] = members
    return nearest === undefined ? [] : [refusalOf(nearest, members, scope)]
  })
}

function sameness({ node, reasons }: RefusingNode): string {
  const rules = reasons.map(({ Rule, Level, Task, Constraint }) => [Rule, Level, Task, Constraint])
  return JSON.stringify([node.ComputedClass, node.NodeClass, rules])
}

function refusalOf(
  nearest: RefusingNode,
  members: readonly RefusingNode[],
  scope: ExplainScope,
): PlacementRefusal {
  return {
    ComputedClass: scope === 'node' ? '' : nearest.node.ComputedClass,
    NodeClass: nearest.node.NodeClass,
    NodeCount: members.length,
    Nodes: members.slice(0, NODES_NAMED).map(({ node: { ID, Name } }) => ({ ID, Name })),
    Reasons: [...nearest.reasons],
    Distance: rounded(nearest.distance),
  }
}
