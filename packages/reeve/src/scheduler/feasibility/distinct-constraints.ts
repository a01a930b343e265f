import type {
  Constraint,
  HostVolumeRecord,
  Job,
  RuleLevel,
  TaskGroup,
  VolumeRequest,
} from '@reeve/contract'
import {
  targetReader,
  type PublicNode,
  isClientTerminal,
  type AllocationRow,
} from '../../model/index.ts'
import { isSystemJob, type PlacementView } from '../cluster-view.ts'
import type { ProposedState } from '../proposed-state.ts'
import { constraintText, type FeasibilityCheck, hostVolumeOf } from './feasibility-rules.ts'

/**
 * A constraint that depends on the other allocations of the job. It follows the proposed state, so
 * its result changes as the plan grows.
 */
export interface DistinctConstraint {
  readonly rule: 'distinct-hosts' | 'distinct-property' | 'volume'
  readonly level: RuleLevel
  /** Null if the rule does not come from a constraint block. */
  readonly constraint: Constraint | null
  readonly check: FeasibilityCheck
  readonly describeNode: (node: PublicNode) => string
  /** Returns and clears the property values whose result changed since the last call. */
  takeChangedValues(): readonly string[]
}

interface DistinctConstraintOptions {
  readonly job: Job
  readonly group: TaskGroup
  readonly proposed: ProposedState
  readonly findNode: (id: string) => PublicNode | undefined
}

/**
 * Constraints `distinct_hosts` and `distinct_property` of a job and one of its groups, hosts first.
 * System jobs place once per node, so `distinct_hosts` is implied.
 */
export function distinctConstraints(
  context: DistinctConstraintOptions,
): readonly DistinctConstraint[] {
  const { job, group } = context
  const all = [
    ...(job.Constraints ?? []).map((constraint) => ({ constraint, level: 'job' as const })),
    ...(group.Constraints ?? []).map((constraint) => ({ constraint, level: 'group' as const })),
  ]
  const hosts = all.filter(({ constraint: { Operand, RTarget } }) => {
    return Operand === 'distinct_hosts' && !isFalse(RTarget) && !isSystemJob(job)
  })
  const properties = all.filter(({ constraint }) => constraint.Operand === 'distinct_property')
  return [
    ...hosts.map(({ constraint, level }) => distinctHostsConstraint(constraint, level, context)),
    ...properties.map(
      ({ constraint, level }) => new DistinctPropertyConstraint(constraint, level, context),
    ),
  ]
}

/** Returns the first constraint that a node violates. */
export function firstViolation(
  rules: readonly DistinctConstraint[],
  node: PublicNode,
): string | undefined {
  for (const { check } of rules) {
    const reason = check(node)
    if (reason !== undefined) return reason
  }
  return undefined
}

function isFalse(flag: string): boolean {
  return ['0', 'f', 'F', 'FALSE', 'false', 'False'].includes(flag)
}

function distinctHostsConstraint(
  constraint: Constraint,
  level: RuleLevel,
  { group, proposed }: DistinctConstraintOptions,
): DistinctConstraint {
  const label = constraintText(constraint)
  const scope = level === 'group' ? group.Name : undefined
  const countOn = (node: PublicNode): number => proposed.countOn(node.ID, scope)
  return {
    rule: 'distinct-hosts',
    level,
    constraint,
    check: (node) => (countOn(node) > 0 ? label : undefined),
    describeNode: (node) => String(countOn(node)),
    takeChangedValues: () => [],
  }
}

/** Limits the allocations per value of a property; nodes without a value are rejected. */
class DistinctPropertyConstraint implements DistinctConstraint {
  readonly rule = 'distinct-property'
  readonly level: RuleLevel
  readonly constraint: Constraint
  readonly #context: DistinctConstraintOptions
  readonly #valueOf: (node: PublicNode) => string | undefined
  readonly #maxPerValue: number
  readonly #label: string
  readonly #counts = new Map<string, number>()
  #changesApplied = 0
  #changedValues: string[] = []

  constructor(constraint: Constraint, level: RuleLevel, context: DistinctConstraintOptions) {
    this.constraint = constraint
    this.level = level
    this.#context = context
    this.#valueOf = targetReader(constraint.LTarget)
    this.#maxPerValue = constraint.RTarget === '' ? 1 : Number(constraint.RTarget)
    this.#label = constraintText(constraint)
  }

  readonly check = (node: PublicNode): string | undefined => {
    this.#applyProposedChanges()
    const value = this.#valueOf(node)
    return value === undefined || this.#isFull(value) ? this.#label : undefined
  }

  readonly describeNode = (node: PublicNode): string => this.#valueOf(node) ?? ''

  takeChangedValues(): readonly string[] {
    this.#applyProposedChanges()
    const values = this.#changedValues
    this.#changedValues = []
    return values
  }

  #isFull(value: string): boolean {
    return (this.#counts.get(value) ?? 0) >= this.#maxPerValue
  }

  #applyProposedChanges(): void {
    const { proposed, findNode, group } = this.#context
    for (; this.#changesApplied < proposed.changes.length; this.#changesApplied++) {
      const change = proposed.changes[this.#changesApplied]
      if (change === undefined || (this.level === 'group' && change.group !== group.Name)) continue
      const node = findNode(change.nodeId)
      const value = node === undefined ? undefined : this.#valueOf(node)
      if (value === undefined) continue
      const wasFull = this.#isFull(value)
      this.#counts.set(value, (this.#counts.get(value) ?? 0) + change.delta)
      if (this.#isFull(value) !== wasFull) this.#changedValues.push(value)
    }
  }
}

interface SingleWriterOptions {
  readonly job: Job
  readonly group: TaskGroup
  readonly proposed: ProposedState
  readonly view: Pick<PlacementView, 'allocationsOn' | 'findHostVolume' | 'jobVersionOf'>
}

const EXCLUSIVE = 'single-node-single-writer'

/** Enforces single-writer access: one writer excludes all others from the volume. */
export function singleWriterConstraints(
  context: SingleWriterOptions,
): readonly DistinctConstraint[] {
  const { group } = context
  const sources = new Set(writtenVolumes(group).map(({ Source }) => Source))
  return [...sources].map((source) => {
    const problem = `host volume "${source}" is in use by another writer`
    return {
      rule: 'volume',
      level: 'group',
      constraint: null,
      check: (node) => (hasConflict(node, source, context) ? problem : undefined),
      describeNode: () => source,
      takeChangedValues: () => [],
    }
  })
}

function hasConflict(
  node: PublicNode,
  source: string,
  { job, group, proposed, view }: SingleWriterOptions,
): boolean {
  // Configured volumes have no writer limit.
  const id = hostVolumeOf(node, source)?.ID ?? ''
  if (id === '' || !mayBeExclusive(view.findHostVolume(job.Namespace, id))) return false
  const isExclusive = writes(group, source, EXCLUSIVE)
  const excludes = (other: TaskGroup): boolean =>
    isExclusive ? writes(other, source) : writes(other, source, EXCLUSIVE)
  const excludedGroups = job.TaskGroups.filter(excludes)
  if (excludedGroups.some(({ Name }) => proposed.countOn(node.ID, Name) > 0)) return true
  return view.allocationsOn(node.ID).some((row) => {
    if (belongsToJob(row, job) || isClientTerminal(row) || proposed.isEvicted(row)) return false
    const groups = view.jobVersionOf(row)?.TaskGroups ?? []
    return groups.some((other) => other.Name === row.TaskGroup && excludes(other))
  })
}

/** True if a capability of the volume allows exclusive writers. */
function mayBeExclusive(volume: HostVolumeRecord | undefined): boolean {
  const capabilities = volume?.RequestedCapabilities ?? []
  return capabilities.some(({ AccessMode }) => AccessMode === EXCLUSIVE)
}

/** True for allocations of the same job; these are counted in the proposed state. */
function belongsToJob(row: AllocationRow, job: Job): boolean {
  return row.Namespace === job.Namespace && row.JobID === job.ID
}

function writes(group: TaskGroup, source: string, accessMode?: string): boolean {
  return writtenVolumes(group).some(
    (volume) =>
      volume.Source === source && (accessMode === undefined || volume.AccessMode === accessMode),
  )
}

/** Host volumes that the group writes; per-allocation volumes have a single writer anyway. */
function writtenVolumes({ Volumes }: TaskGroup): readonly VolumeRequest[] {
  return Object.values(Volumes ?? {}).filter(
    ({ Type, ReadOnly, PerAlloc }) => Type === 'host' && !ReadOnly && !PerAlloc,
  )
}
