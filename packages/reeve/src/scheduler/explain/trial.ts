import { ALL_NODE_POOL, type Job, type PreemptionConfig, type TaskGroup } from '@reeve/contract'
import { NO_USAGE, type NodeUsage, type PublicNode } from '../../model/index.ts'
import type { PlacementView } from '../view.ts'

/** What a change would make of the world. Each part is left out where it changes nothing. */
export interface World {
  readonly job?: (job: Job) => Job
  /** The node it changes, and how. */
  readonly node?: { readonly id: string; readonly change: (node: PublicNode) => PublicNode }
  readonly usage?: { readonly id: string; readonly change: (usage: NodeUsage) => NodeUsage }
  readonly added?: PublicNode
  /** Who may displace others. */
  readonly preemption?: PreemptionConfig
}

/** Both changes, one after the other. */
export function bothWorlds(a: World, b: World): World {
  const job = chain(a.job, b.job)
  const node = onOneNode(a.node, b.node)
  const usage = onOneNode(a.usage, b.usage)
  const added = b.added ?? a.added
  const preemption = b.preemption ?? a.preemption
  return {
    ...(job === undefined ? {} : { job }),
    ...(node === undefined ? {} : { node }),
    ...(usage === undefined ? {} : { usage }),
    ...(added === undefined ? {} : { added }),
    ...(preemption === undefined ? {} : { preemption }),
  }
}

interface OnOneNode<T> {
  readonly id: string
  readonly change: (value: T) => T
}

/** Changes are made for one node at a time, so both name the same. */
function onOneNode<T>(
  a: OnOneNode<T> | undefined,
  b: OnOneNode<T> | undefined,
): OnOneNode<T> | undefined {
  const change = chain(a?.change, b?.change)
  const id = a?.id ?? b?.id
  return change === undefined || id === undefined ? undefined : { id, change }
}

function chain<T>(
  first: ((value: T) => T) | undefined,
  second: ((value: T) => T) | undefined,
): ((value: T) => T) | undefined {
  if (first === undefined) return second
  return second === undefined ? first : (value) => second(first(value))
}

/** The view as it would be. */
export function changedView(
  view: PlacementView,
  nodes: readonly PublicNode[],
  { node, usage, added, preemption }: World,
): PlacementView {
  const changed = nodes.map((one) => (one.ID === node?.id ? node.change(one) : one))
  const all = added === undefined ? changed : [...changed, added]
  const byId = new Map(all.map((one) => [one.ID, one]))
  const ready = all.filter(takesWork)
  return {
    findNode: (id) => byId.get(id),
    findHostVolume: (namespace, id) => view.findHostVolume(namespace, id),
    readyNodes: (pool) =>
      pool === ALL_NODE_POOL ? ready : ready.filter((one) => one.NodePool === pool),
    usageOn: (id) => {
      if (id === added?.ID) return NO_USAGE
      const now = view.usageOn(id)
      return id === usage?.id ? usage.change(now) : now
    },
    allocationsOn: (id) => (id === added?.ID ? [] : view.allocationsOn(id)),
    findJobOf: (row) => view.findJobOf(row),
    settingsFor: (pool) => {
      const settings = view.settingsFor(pool)
      return preemption === undefined ? settings : { ...settings, preemption }
    },
  }
}

function takesWork(node: PublicNode): boolean {
  return (
    node.Status === 'ready' &&
    node.SchedulingEligibility === 'eligible' &&
    node.DrainStrategy === null &&
    !node.Drain
  )
}

/** The group of that name in a changed job. */
export function groupIn(job: Job, { Name: name }: TaskGroup): TaskGroup | undefined {
  return job.TaskGroups.find((group) => group.Name === name)
}
