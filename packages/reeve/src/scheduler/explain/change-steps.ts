import type { ChangeStep, Constraint, Job, PlacementReason, Task, TaskGroup } from '@reeve/contract'
import { grouped } from '@reeve/kit/number.ts'
import type { NodeUsage, PublicNode } from '../../model/index.ts'
import type { World } from './trial.ts'

/** A step of a change, and what it would make of the world. */
export interface TriedStep {
  readonly step: ChangeStep
  readonly world: World
  /** How much of what there is it changes: a share for amounts, 1 for all else. */
  readonly size: number
}

/** The ways in which one reason can be removed: by who owns the job, or by who owns the node. */
export interface Remedies {
  readonly job: TriedStep | undefined
  readonly node: TriedStep | undefined
}

export interface RemedyOptions {
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
      return { job: usePool(options), node: undefined }
    case 'node-status':
    case 'node-eligibility':
      return { job: undefined, node: takeWork(reason, options) }
    default:
      // What else a node lacks (drivers, devices, volumes, networks, cores, ports) the refusal
      // says; nobody gives a node a device by editing it.
      return { job: undefined, node: undefined }
  }
}

/** Below these a job is refused at registration. */
const AMOUNTS = {
  cpu: { field: 'CPU', least: 1, column: 'cpuShares' },
  memory: { field: 'MemoryMB', least: 10, column: 'memoryMB' },
  disk: { field: 'SizeMB', least: 10, column: 'diskMB' },
} as const

function amountOf({ Rule: rule }: PlacementReason): (typeof AMOUNTS)[keyof typeof AMOUNTS] {
  return rule === 'cpu' ? AMOUNTS.cpu : rule === 'memory' ? AMOUNTS.memory : AMOUNTS.disk
}

/** The task that asks for most can best ask for less. */
function lowerAmount(reason: PlacementReason, { group }: RemedyOptions): TriedStep | undefined {
  const { field, least } = amountOf(reason)
  const missing = reason.Shortfall?.Missing ?? 0
  const unit = reason.Shortfall?.Unit ?? ''
  const where = `TaskGroups[${group.Name}]`
  if (field === 'SizeMB') {
    const from = group.EphemeralDisk.SizeMB
    const path = `${where}.EphemeralDisk.SizeMB`
    const words = `size of ephemeral_disk in group "${group.Name}"`
    return lowered({ path, words, from, missing, least, unit }, (value) =>
      inGroup(group.Name, (one) => ({
        ...one,
        EphemeralDisk: { ...one.EphemeralDisk, SizeMB: value },
      })),
    )
  }
  const task = mostDemanding(group.Tasks, field)
  if (task === undefined || (field === 'CPU' && task.Resources.Cores > 0)) return undefined
  const path = `${where}.Tasks[${task.Name}].Resources.${field}`
  const words = `${field === 'CPU' ? 'cpu' : 'memory'} of task "${task.Name}" in group "${group.Name}"`
  const from = task.Resources[field]
  return lowered({ path, words, from, missing, least, unit }, (value) =>
    inTask(group.Name, task.Name, (one) => ({
      ...one,
      Resources: { ...one.Resources, [field]: value },
    })),
  )
}

function mostDemanding(tasks: readonly Task[], field: 'CPU' | 'MemoryMB'): Task | undefined {
  return tasks.reduce<Task | undefined>(
    (most, task) =>
      most === undefined || task.Resources[field] > most.Resources[field] ? task : most,
    undefined,
  )
}

interface Lowering {
  readonly path: string
  /** The field as the job file calls it. */
  readonly words: string
  readonly from: number
  readonly missing: number
  readonly least: number
  readonly unit: string
}

function lowered(
  { path, words, from, missing, least, unit }: Lowering,
  edit: (value: number) => (job: Job) => Job,
): TriedStep | undefined {
  const to = Math.floor(from - missing)
  if (to < least) return undefined
  return {
    step: {
      Kind: 'edit-job',
      Path: path,
      NodeID: '',
      From: String(from),
      To: String(to),
      Text: `set ${words} to ${`${grouped(to)} ${unit}`.trim()} or less`,
    },
    world: { job: edit(to) },
    size: missing / Math.max(1, from),
  }
}

/** Only where the node is large enough at all, and as much as is missing runs there. */
function freeAmount(
  reason: PlacementReason,
  { node, usageOn }: RemedyOptions,
): TriedStep | undefined {
  const { column } = amountOf(reason)
  const short = reason.Shortfall
  const used = usageOn(node.ID)[column]
  if (short === null || short.Capacity < short.Asked || used < short.Missing) return undefined
  const what = `${grouped(short.Missing)} ${short.Unit} of ${reason.Rule}`
  return {
    step: {
      Kind: 'free-capacity',
      Path: '',
      NodeID: node.ID,
      From: String(used),
      To: String(used - short.Missing),
      Text: `free ${what} on node ${node.Name}`,
    },
    world: {
      usage: {
        id: node.ID,
        change: (usage) => ({ ...usage, [column]: usage[column] - short.Missing }),
      },
    },
    size: short.Missing / Math.max(1, short.Asked),
  }
}

function dropConstraint(
  reason: PlacementReason,
  { job, group }: RemedyOptions,
): TriedStep | undefined {
  const { Constraint: constraint, Level: level, Task: task } = reason
  if (constraint === null) return undefined
  const inGroupPath = `TaskGroups[${group.Name}]`
  const [owner, prefix] =
    level === 'job'
      ? [job, '']
      : level === 'group'
        ? [group, `${inGroupPath}.`]
        : [group.Tasks.find((one) => one.Name === task), `${inGroupPath}.Tasks[${task}].`]
  const place = owner?.Constraints?.indexOf(constraint) ?? -1
  if (place < 0) return undefined
  const path = `${prefix}Constraints[${place}]`
  const text = [constraint.LTarget, constraint.Operand, constraint.RTarget].join(' ').trim()
  return {
    step: {
      Kind: 'edit-job',
      Path: path,
      NodeID: '',
      From: text,
      To: '',
      Text: `remove the constraint ${text} of the ${level}`,
    },
    world: { job: withoutConstraint(reason, group, constraint) },
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

/** Meta is what an operator may set on a node that runs. */
function setMeta(reason: PlacementReason, { node }: RemedyOptions): TriedStep | undefined {
  const { Constraint: constraint, Found: found } = reason
  const name = /^\$\{meta\.(.+)\}$/s.exec(constraint?.LTarget ?? '')?.[1]
  const isEquality = ['=', '==', 'is'].includes(constraint?.Operand ?? '')
  const value = constraint?.RTarget ?? ''
  if (name === undefined || !isEquality || value.startsWith('${')) return undefined
  return {
    step: {
      Kind: 'edit-node',
      Path: `Meta.${name}`,
      NodeID: node.ID,
      From: found,
      To: value,
      Text: `set meta ${name} of node ${node.Name} to ${value}`,
    },
    world: {
      node: {
        id: node.ID,
        change: (one) => ({
          ...one,
          Meta: { ...one.Meta, [name]: value },
          // It is no longer like the nodes of its class.
          ComputedClass: '',
        }),
      },
    },
    size: 1,
  }
}

function addDatacenter({ job, node }: RemedyOptions): TriedStep {
  const all = [...job.Datacenters, node.Datacenter]
  return {
    step: {
      Kind: 'edit-job',
      Path: 'Datacenters',
      NodeID: '',
      From: JSON.stringify(job.Datacenters),
      To: JSON.stringify(all),
      Text: `add ${node.Datacenter} to the datacenters of the job`,
    },
    world: { job: (one) => ({ ...one, Datacenters: all }) },
    size: 1,
  }
}

function usePool({ job, node }: RemedyOptions): TriedStep {
  return {
    step: {
      Kind: 'edit-job',
      Path: 'NodePool',
      NodeID: '',
      From: job.NodePool,
      To: node.NodePool,
      Text: `run the job in the pool ${node.NodePool}`,
    },
    world: { job: (one) => ({ ...one, NodePool: node.NodePool }) },
    size: 1,
  }
}

function takeWork(reason: PlacementReason, { node }: RemedyOptions): TriedStep {
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
    world: { node: { id: node.ID, change } },
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
