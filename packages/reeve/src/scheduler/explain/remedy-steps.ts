import type { ChangeStep, Constraint, Job, PlacementReason, Task, TaskGroup } from '@reeve/contract'
import { grouped } from '@reeve/kit/number.ts'
import type { NodeUsage, PublicNode } from '../../model/index.ts'
import type { WhatIfChange } from './what-if-view.ts'

/** A step of a suggested change with its effect on the what-if view. */
export interface RemedyStep {
  readonly step: ChangeStep
  readonly change: WhatIfChange
  /** Relative size of the change: a share for amounts, 1 for everything else. */
  readonly size: number
}

/** The changes that remove one rejection reason: by the owner of the job or of the node. */
export interface Remedies {
  readonly job: RemedyStep | undefined
  readonly node: RemedyStep | undefined
}

interface RemedyOptions {
  readonly job: Job
  readonly group: TaskGroup
  readonly node: PublicNode
  readonly usageOn: (nodeId: string) => NodeUsage
}

export function remediesFor(reason: PlacementReason, options: RemedyOptions): Remedies {
  switch (reason.Rule) {
    case 'cpu':
    case 'memory':
    case 'disk':
      return { job: lowerAmount(reason, options), node: freeAmount(reason, options) }
    case 'constraint':
      return { job: dropConstraint(reason, options), node: setMeta(reason, options) }
    case 'distinct-hosts':
    case 'distinct-property':
      return { job: dropConstraint(reason, options), node: undefined }
    case 'datacenter':
      return { job: addDatacenter(options), node: undefined }
    case 'node-pool':
      return { job: changeNodePool(options), node: undefined }
    case 'node-status':
    case 'node-eligibility':
      return { job: undefined, node: makeSchedulable(reason, options) }
    default:
      // Missing drivers, devices, volumes, networks, cores and ports have no remedy: they cannot be
      // added by editing a node or a job.
      return { job: undefined, node: undefined }
  }
}

/** Amounts with their minimum: registration rejects a job below it. */
const REDUCIBLE_AMOUNTS = {
  cpu: { field: 'CPU', least: 1, column: 'cpuShares' },
  memory: { field: 'MemoryMB', least: 10, column: 'memoryMB' },
  disk: { field: 'SizeMB', least: 10, column: 'diskMB' },
} as const

function amountOf({
  Rule: rule,
}: PlacementReason): (typeof REDUCIBLE_AMOUNTS)[keyof typeof REDUCIBLE_AMOUNTS] {
  return rule === 'cpu'
    ? REDUCIBLE_AMOUNTS.cpu
    : rule === 'memory'
      ? REDUCIBLE_AMOUNTS.memory
      : REDUCIBLE_AMOUNTS.disk
}

/** Reduces the task that requires most. */
function lowerAmount(reason: PlacementReason, { group }: RemedyOptions): RemedyStep | undefined {
  const { field, least: minimum } = amountOf(reason)
  const missing = reason.Shortfall?.Missing ?? 0
  const unit = reason.Shortfall?.Unit ?? ''
  const groupPath = `TaskGroups[${group.Name}]`
  if (field === 'SizeMB') {
    const from = group.EphemeralDisk.SizeMB
    const path = `${groupPath}.EphemeralDisk.SizeMB`
    const label = `size of ephemeral_disk in group "${group.Name}"`
    return reduceAmount({ path, label, from, missing, minimum, unit }, (value) =>
      inGroup(group.Name, (one) => ({
        ...one,
        EphemeralDisk: { ...one.EphemeralDisk, SizeMB: value },
      })),
    )
  }
  const task = mostDemanding(group.Tasks, field)
  if (task === undefined || (field === 'CPU' && task.Resources.Cores > 0)) return undefined
  const path = `${groupPath}.Tasks[${task.Name}].Resources.${field}`
  const label = `${field === 'CPU' ? 'cpu' : 'memory'} of task "${task.Name}" in group "${group.Name}"`
  const from = task.Resources[field]
  return reduceAmount({ path, label, from, missing, minimum, unit }, (value) =>
    inTask(group.Name, task.Name, (one) => ({
      ...one,
      Resources: { ...one.Resources, [field]: value },
    })),
  )
}

function mostDemanding(tasks: readonly Task[], field: 'CPU' | 'MemoryMB'): Task | undefined {
  return tasks.reduce<Task | undefined>(
    (largest, task) =>
      largest === undefined || task.Resources[field] > largest.Resources[field] ? task : largest,
    undefined,
  )
}

interface AmountReduction {
  readonly path: string
  /** Name of the field in the job file. */
  readonly label: string
  readonly from: number
  readonly missing: number
  readonly minimum: number
  readonly unit: string
}

function reduceAmount(
  { path, label, from, missing, minimum, unit }: AmountReduction,
  edit: (value: number) => (job: Job) => Job,
): RemedyStep | undefined {
  const to = Math.floor(from - missing)
  if (to < minimum) return undefined
  return {
    step: {
      Kind: 'edit-job',
      Path: path,
      NodeID: '',
      From: String(from),
      To: String(to),
      Text: `set ${label} to ${`${grouped(to)} ${unit}`.trim()} or less`,
    },
    change: { job: edit(to) },
    size: missing / Math.max(1, from),
  }
}

/** Applies only if the node has the capacity and enough of it is used by others. */
function freeAmount(
  reason: PlacementReason,
  { node, usageOn }: RemedyOptions,
): RemedyStep | undefined {
  const { column } = amountOf(reason)
  const shortfall = reason.Shortfall
  const used = usageOn(node.ID)[column]
  if (shortfall === null || shortfall.Capacity < shortfall.Asked || used < shortfall.Missing)
    return undefined
  const amount = `${grouped(shortfall.Missing)} ${shortfall.Unit} of ${reason.Rule}`
  return {
    step: {
      Kind: 'free-capacity',
      Path: '',
      NodeID: node.ID,
      From: String(used),
      To: String(used - shortfall.Missing),
      Text: `free ${amount} on node ${node.Name}`,
    },
    change: {
      usageChange: {
        id: node.ID,
        change: (usage) => ({ ...usage, [column]: usage[column] - shortfall.Missing }),
      },
    },
    size: shortfall.Missing / Math.max(1, shortfall.Asked),
  }
}

function dropConstraint(
  reason: PlacementReason,
  { job, group }: RemedyOptions,
): RemedyStep | undefined {
  const { Constraint: constraint, Level: level, Task: task } = reason
  if (constraint === null) return undefined
  const inGroupPath = `TaskGroups[${group.Name}]`
  const [owner, prefix] =
    level === 'job'
      ? [job, '']
      : level === 'group'
        ? [group, `${inGroupPath}.`]
        : [group.Tasks.find((one) => one.Name === task), `${inGroupPath}.Tasks[${task}].`]
  const index = owner?.Constraints?.indexOf(constraint) ?? -1
  if (index < 0) return undefined
  const path = `${prefix}Constraints[${index}]`
  const constraintText = [constraint.LTarget, constraint.Operand, constraint.RTarget]
    .join(' ')
    .trim()
  return {
    step: {
      Kind: 'edit-job',
      Path: path,
      NodeID: '',
      From: constraintText,
      To: '',
      Text: `remove the constraint ${constraintText} of the ${level}`,
    },
    change: { job: withoutConstraint(reason, group, constraint) },
    size: 1,
  }
}

function withoutConstraint(
  { Level: level, Task: task }: PlacementReason,
  group: TaskGroup,
  constraint: Constraint,
): (job: Job) => Job {
  const rest = (all: readonly Constraint[] | null) =>
    all?.filter((one) => one !== constraint) ?? null
  if (level === 'job') return (job) => ({ ...job, Constraints: rest(job.Constraints) })
  if (level === 'group')
    return inGroup(group.Name, (one) => ({ ...one, Constraints: rest(one.Constraints) }))
  return inTask(group.Name, task, (one) => ({ ...one, Constraints: rest(one.Constraints) }))
}

/** Suggests setting node metadata: operators can change it on a running node. */
function setMeta(reason: PlacementReason, { node }: RemedyOptions): RemedyStep | undefined {
  const { Constraint: constraint, Found: actual } = reason
  const name = /^\$\{meta\.(.+)\}$/s.exec(constraint?.LTarget ?? '')?.[1]
  const isEquality = ['=', '==', 'is'].includes(constraint?.Operand ?? '')
  const value = constraint?.RTarget ?? ''
  if (name === undefined || !isEquality || value.startsWith('${')) return undefined
  return {
    step: {
      Kind: 'edit-node',
      Path: `Meta.${name}`,
      NodeID: node.ID,
      From: actual,
      To: value,
      Text: `set meta ${name} of node ${node.Name} to ${value}`,
    },
    change: {
      nodeChange: {
        id: node.ID,
        change: (one) => ({
          ...one,
          Meta: { ...one.Meta, [name]: value },
          // The changed node no longer belongs to its computed class.
          ComputedClass: '',
        }),
      },
    },
    size: 1,
  }
}

function addDatacenter({ job, node }: RemedyOptions): RemedyStep {
  const datacenters = [...job.Datacenters, node.Datacenter]
  return {
    step: {
      Kind: 'edit-job',
      Path: 'Datacenters',
      NodeID: '',
      From: JSON.stringify(job.Datacenters),
      To: JSON.stringify(datacenters),
      Text: `add ${node.Datacenter} to the datacenters of the job`,
    },
    change: { job: (one) => ({ ...one, Datacenters: datacenters }) },
    size: 1,
  }
}

function changeNodePool({ job, node }: RemedyOptions): RemedyStep {
  return {
    step: {
      Kind: 'edit-job',
      Path: 'NodePool',
      NodeID: '',
      From: job.NodePool,
      To: node.NodePool,
      Text: `run the job in the pool ${node.NodePool}`,
    },
    change: { job: (one) => ({ ...one, NodePool: node.NodePool }) },
    size: 1,
  }
}

function makeSchedulable(reason: PlacementReason, { node }: RemedyOptions): RemedyStep {
  const isStatus = reason.Rule === 'node-status'
  const change = (one: PublicNode): PublicNode =>
    isStatus
      ? { ...one, Status: 'ready' }
      : { ...one, SchedulingEligibility: 'eligible', Drain: false, DrainStrategy: null }
  return {
    step: {
      Kind: 'edit-node',
      Path: isStatus ? 'Status' : 'SchedulingEligibility',
      NodeID: node.ID,
      From: reason.Found,
      To: isStatus ? 'ready' : 'eligible',
      Text: isStatus ? `bring node ${node.Name} back` : `let node ${node.Name} take work again`,
    },
    change: { nodeChange: { id: node.ID, change } },
    size: 1,
  }
}

function inGroup(name: string, edit: (group: TaskGroup) => TaskGroup): (job: Job) => Job {
  return (job) => ({
    ...job,
    TaskGroups: job.TaskGroups.map((group) => (group.Name === name ? edit(group) : group)),
  })
}

function inTask(group: string, name: string, edit: (task: Task) => Task): (job: Job) => Job {
  return inGroup(group, (one) => ({
    ...one,
    Tasks: one.Tasks.map((task) => (task.Name === name ? edit(task) : task)),
  }))
}
