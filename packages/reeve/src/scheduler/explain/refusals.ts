import type { ExplainScope, PlacementReason, PlacementRefusal } from '@reeve/contract'
import type { Steps } from '@reeve/kit/slices.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import type { PublicNode } from '../../model/index.ts'
import { roundScore } from '../rank/score.ts'
import { distanceOf } from './node-reasons.ts'

/** Maximum number of nodes listed per rejection. */
const NODES_LISTED_MAX = 5

/** A node that rejects the allocation, with all its reasons. */
export interface RejectedNode {
  readonly node: PublicNode
  readonly reasons: readonly PlacementReason[]
  readonly distance: number
}

export function* refusingNodes(
  nodes: readonly PublicNode[],
  reasonsOf: (node: PublicNode) => readonly PlacementReason[],
): Steps<readonly RejectedNode[]> {
  const rejected: RejectedNode[] = []
  for (const node of nodes) {
    yield
    const reasons = reasonsOf(node)
    if (reasons.length > 0) rejected.push({ node, reasons, distance: distanceOf(reasons) })
  }
  return rejected.toSorted((a, b) => a.distance - b.distance || compareText(a.node.ID, b.node.ID))
}

/** Groups nodes that reject for the same reasons; nearest to fitting first. */
export function groupRejections(
  rejected: readonly RejectedNode[],
  scope: ExplainScope,
): readonly PlacementRefusal[] {
  const groups = new Map<string, RejectedNode[]>()
  for (const node of rejected) {
    const key = scope === 'node' ? node.node.ID : rejectionKey(node)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [node])
    else group.push(node)
  }
  return [...groups.values()].flatMap((members) => {
    const [nearest] = members
    return nearest === undefined ? [] : [toPlacementRefusal(nearest, members, scope)]
  })
}

function rejectionKey({ node, reasons }: RejectedNode): string {
  const rules = reasons.map(({ Rule, Level, Task, Constraint }) => [Rule, Level, Task, Constraint])
  return JSON.stringify([node.ComputedClass, node.NodeClass, rules])
}

function toPlacementRefusal(
  nearest: RejectedNode,
  members: readonly RejectedNode[],
  scope: ExplainScope,
): PlacementRefusal {
  return {
    ComputedClass: scope === 'node' ? '' : nearest.node.ComputedClass,
    NodeClass: nearest.node.NodeClass,
    NodeCount: members.length,
    Nodes: members.slice(0, NODES_LISTED_MAX).map(({ node: { ID, Name } }) => ({ ID, Name })),
    Reasons: [...nearest.reasons],
    Distance: roundScore(nearest.distance),
  }
}
