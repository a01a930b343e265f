import { ALL_NODE_POOL, type Job, type PreemptionConfig } from '@reeve/contract'
import { isSchedulable, NO_USAGE, type NodeUsage, type PublicNode } from '../../model/index.ts'
import type { PlacementView } from '../cluster-view.ts'

/** A hypothetical change of the job or the cluster. Absent parts change nothing. */
export interface WhatIfChange {
  readonly job?: (job: Job) => Job
  /** The changed node and the change. */
  readonly nodeChange?: { readonly id: string; readonly change: (node: PublicNode) => PublicNode }
  readonly usageChange?: { readonly id: string; readonly change: (usage: NodeUsage) => NodeUsage }
  readonly addedNode?: PublicNode
  /** Job types that may preempt. */
  readonly preemption?: PreemptionConfig
}

/** Combines two changes; `a` applies first. */
export function combineChanges(a: WhatIfChange, b: WhatIfChange): WhatIfChange {
  const job = compose(a.job, b.job)
  const nodeChange = combineNodeChanges(a.nodeChange, b.nodeChange)
  const usageChange = combineNodeChanges(a.usageChange, b.usageChange)
  const addedNode = b.addedNode ?? a.addedNode
  const preemption = b.preemption ?? a.preemption
  return {
    ...(job === undefined ? {} : { job }),
    ...(nodeChange === undefined ? {} : { nodeChange }),
    ...(usageChange === undefined ? {} : { usageChange }),
    ...(addedNode === undefined ? {} : { addedNode }),
    ...(preemption === undefined ? {} : { preemption }),
  }
}

interface NodeChange<T> {
  readonly id: string
  readonly change: (value: T) => T
}

/** Steps of one change concern the same node. */
function combineNodeChanges<T>(
  a: NodeChange<T> | undefined,
  b: NodeChange<T> | undefined,
): NodeChange<T> | undefined {
  const change = compose(a?.change, b?.change)
  const id = a?.id ?? b?.id
  return change === undefined || id === undefined ? undefined : { id, change }
}

function compose<T>(
  first: ((value: T) => T) | undefined,
  second: ((value: T) => T) | undefined,
): ((value: T) => T) | undefined {
  if (first === undefined) return second
  return second === undefined ? first : (value) => second(first(value))
}

/** Returns the view with the change applied. */
export function viewWithChange(
  view: PlacementView,
  nodes: readonly PublicNode[],
  { nodeChange, usageChange, addedNode, preemption }: WhatIfChange,
): PlacementView {
  const changed = nodes.map((one) => (one.ID === nodeChange?.id ? nodeChange.change(one) : one))
  const withAdded = addedNode === undefined ? changed : [...changed, addedNode]
  const byId = new Map(withAdded.map((one) => [one.ID, one]))
  const ready = withAdded.filter(isSchedulable)
  return {
    findNode: (id) => byId.get(id),
    findHostVolume: (namespace, id) => view.findHostVolume(namespace, id),
    readyNodes: (pool) =>
      pool === ALL_NODE_POOL ? ready : ready.filter((one) => one.NodePool === pool),
    usageOn: (id) => {
      if (id === addedNode?.ID) return NO_USAGE
      const current = view.usageOn(id)
      return id === usageChange?.id ? usageChange.change(current) : current
    },
    allocationsOn: (id) => (id === addedNode?.ID ? [] : view.allocationsOn(id)),
    jobVersionOf: (row) => view.jobVersionOf(row),
    settingsFor: (pool) => {
      const settings = view.settingsFor(pool)
      return preemption === undefined ? settings : { ...settings, preemption }
    },
  }
}
