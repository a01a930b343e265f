import type {
  AllocatedResources,
  AllocationDeploymentStatus,
  AllocationNetworkStatus,
  AllocationStateChange,
  ClientStatus,
  DesiredStatus,
  DesiredTransition,
  NodeScore,
  PlacementMetrics,
  ReportedTaskState,
  RescheduleTracker,
  TaskEvent,
  TaskState,
} from '@reeve/contract'
import { ZERO_TIME } from '@reeve/kit/duration.ts'
import { isEqual } from '../deep-equal.ts'

/**
 * An allocation as it is stored. There may be a million of them, so a row contains neither its job
 * (the version is retained while the allocation exists) nor derived fields (`Resources`,
 * `SharedResources`, `TaskResources`), and zero values are absent. `allocation-view.ts` creates the
 * API representations.
 */
export interface AllocationRow {
  readonly ID: string
  readonly Namespace: string
  readonly EvalID: string
  /** `<job>.<group>[<index>]` */
  readonly Name: string
  readonly NodeID: string
  readonly NodeName: string
  readonly JobID: string
  readonly JobType: string
  readonly JobVersion: number
  readonly TaskGroup: string
  readonly DesiredStatus: DesiredStatus
  readonly ClientStatus: ClientStatus
  readonly AllocatedResources: AllocatedResources
  readonly Metrics: StoredMetrics
  readonly CreateIndex: number
  readonly ModifyIndex: number
  /** Index of the last write by the servers. Set when a plan is committed. */
  readonly AllocModifyIndex: number
  readonly CreateTime: number
  readonly ModifyTime: number

  readonly DesiredDescription?: string | undefined
  readonly DesiredTransition?: Partial<DesiredTransition> | undefined
  readonly ClientDescription?: string | undefined
  readonly TaskStates?: StoredTaskStates | null | undefined
  readonly DeploymentID?: string | undefined
  readonly DeploymentStatus?: AllocationDeploymentStatus | null | undefined
  readonly RescheduleTracker?: RescheduleTracker | null | undefined
  readonly PreviousAllocation?: string | undefined
  readonly NextAllocation?: string | undefined
  readonly FollowupEvalID?: string | undefined
  readonly PreemptedAllocations?: readonly string[] | null | undefined
  readonly PreemptedByAllocation?: string | undefined
  readonly AllocStates?: readonly AllocationStateChange[] | null | undefined
  readonly NetworkStatus?: AllocationNetworkStatus | null | undefined
}

export function allocationName(jobId: string, group: string, index: number): string {
  return `${jobId}.${group}[${index}]`
}

/** Returns the index in an allocation's name; −1 if it has none. */
export function allocationIndex(name: string): number {
  const digits = /\[(\d{1,9})\]$/.exec(name)?.[1]
  return digits === undefined ? -1 : Number(digits)
}

/**
 * Reports whether the node has reported an end. `unknown` is not terminal: the node may reconnect.
 */
export function isClientTerminal(row: { readonly ClientStatus: ClientStatus }): boolean {
  return (
    row.ClientStatus === 'complete' || row.ClientStatus === 'failed' || row.ClientStatus === 'lost'
  )
}

export function isServerTerminal(row: { readonly DesiredStatus: DesiredStatus }): boolean {
  return row.DesiredStatus === 'stop' || row.DesiredStatus === 'evict'
}

/** Reports whether the allocation is terminal on server or client. */
export function isTerminal(row: {
  readonly ClientStatus: ClientStatus
  readonly DesiredStatus: DesiredStatus
}): boolean {
  return isServerTerminal(row) || isClientTerminal(row)
}

/** One of the best nodes: ID, final score, and the parts of the score. */
export type StoredScore = readonly [
  nodeId: string,
  score: number,
  /** Absent if the score consists of the fit alone, as is usual. */
  parts?: Readonly<Record<string, number>>,
]

/**
 * Placement metrics without zero and derived values: every allocation has them, and in full they
 * would be most of the row.
 */
export interface StoredMetrics extends Partial<Omit<PlacementMetrics, 'Scores' | 'ScoreMetaData'>> {
  /** Text of `encodeTopScores`, or a list from earlier versions. `decodeTopScores` reads both. */
  readonly Best?: string | readonly StoredScore[]
}

/**
 * Encodes the best nodes as one text: `<node> <score>[ <scorer> <part>]…`, separated by commas. A
 * list would be sixteen objects to retain, copy and collect with each of a million rows.
 */
export function encodeTopScores(
  topScores: readonly StoredScore[],
): string | readonly StoredScore[] {
  let text = ''
  for (const [nodeId, score, components] of topScores) {
    if (nodeId.includes(' ') || nodeId.includes(',')) return topScores
    text += `${text === '' ? '' : ','}${nodeId} ${score}`
    if (components === undefined) continue
    for (const [scorer, value] of Object.entries(components)) text += ` ${scorer} ${value}`
  }
  return text
}

/** Returns the best nodes, best first. */
export function decodeTopScores({ Best: topScores = [] }: StoredMetrics): readonly StoredScore[] {
  if (typeof topScores !== 'string') return topScores
  return topScores === '' ? [] : topScores.split(',').map(parseScore)
}

function parseScore(text: string): StoredScore {
  const [nodeId = '', score = '', ...rest] = text.split(' ')
  if (rest.length === 0) return [nodeId, Number(score)]
  const components: Record<string, number> = {}
  for (let index = 0; index < rest.length; index += 2)
    components[rest[index] ?? ''] = Number(rest[index + 1])
  return [nodeId, Number(score), components]
}

/** Scorers by their names in the API. */
export const SCORERS = {
  /** The scorer that always applies, with any algorithm. */
  fit: 'binpack',
  antiAffinity: 'job-anti-affinity',
  penalty: 'node-reschedule-penalty',
  affinity: 'node-affinity',
  devices: 'devices',
  spread: 'allocation-spread',
  preemption: 'preemption',
} as const

/** Scorers shown as zero if they did not apply. */
const ZERO_SCORES = {
  [SCORERS.fit]: 0,
  [SCORERS.antiAffinity]: 0,
  [SCORERS.penalty]: 0,
  [SCORERS.affinity]: 0,
}

const NO_METRICS: PlacementMetrics = {
  NodesEvaluated: 0,
  NodesFiltered: 0,
  NodesInPool: 0,
  NodePool: '',
  NodesAvailable: {},
  ClassFiltered: null,
  ConstraintFiltered: null,
  NodesExhausted: 0,
  ClassExhausted: null,
  DimensionExhausted: null,
  QuotaExhausted: null,
  ResourcesExhausted: null,
  Scores: null,
  ScoreMetaData: null,
  AllocationTime: 0,
  CoalescedFailures: 0,
}

/** Returns the metrics with the scores in both formats. */
export function expandMetrics(metrics: StoredMetrics): PlacementMetrics {
  const { Best: _best, ...stored } = metrics
  const scores = decodeTopScores(metrics).map(toNodeScore)
  return {
    ...NO_METRICS,
    ...stored,
    Scores: scores.length === 0 ? null : Object.fromEntries(scores.flatMap(legacyScores)),
    ScoreMetaData: scores.length === 0 ? null : scores,
  }
}

function toNodeScore([nodeId, score, parts]: StoredScore): NodeScore {
  return {
    NodeID: nodeId,
    Scores: { ...ZERO_SCORES, [SCORERS.fit]: score, ...parts },
    NormScore: score,
  }
}

function legacyScores(score: NodeScore): readonly (readonly [string, number])[] {
  const entries = Object.entries(score.Scores).map(
    ([scorer, value]) => [`${score.NodeID}.${scorer}`, value] as const,
  )
  return [...entries, [`${score.NodeID}.normalized-score`, score.NormScore]]
}

/** A stored task state. An event has 24 fields of which few apply; only those are stored. */
type StoredTaskState = ReportedTaskState

type StoredTaskStates = Readonly<Record<string, StoredTaskState>>

/** A task event with the zero value of every field. Stored events omit zero values. */
export const ZERO_TASK_EVENT: TaskEvent = {
  Type: '',
  Time: 0,
  DisplayMessage: '',
  Message: '',
  Details: {},
  FailsTask: false,
  RestartReason: '',
  SetupError: '',
  DriverError: '',
  DriverMessage: '',
  ExitCode: 0,
  Signal: 0,
  KillTimeout: 0,
  KillError: '',
  KillReason: '',
  StartDelay: 0,
  DownloadError: '',
  ValidationError: '',
  DiskLimit: 0,
  FailedSibling: '',
  SecretStoreError: '',
  TaskSignal: '',
  TaskSignalReason: '',
  GenericSource: '',
}

/** State of a task that has not started. */
export const ZERO_TASK_STATE: TaskState = {
  State: 'pending',
  Failed: false,
  Restarts: 0,
  LastRestart: ZERO_TIME,
  StartedAt: ZERO_TIME,
  FinishedAt: ZERO_TIME,
  Events: [],
  TaskHandle: null,
  Paused: '',
}

/**
 * Returns the compact form of the reported states; null if none were reported. Returns the same
 * object if it is already compact, because agents omit zero values and every report passes here.
 */
export function compactTaskStates(states: StoredTaskStates | null): StoredTaskStates | null {
  if (states === null || Object.values(states).every(isCompact)) return states
  return mapValues(states, ({ Events: events, ...state }) => ({
    ...withoutZeros(state, ZERO_TASK_STATE),
    ...(events === undefined
      ? {}
      : { Events: events.map((one) => withoutZeros(one, ZERO_TASK_EVENT)) }),
  }))
}

function isCompact(state: StoredTaskState): boolean {
  for (const name of Object.keys(state))
    if (name !== 'Events' && isZero(state, name, ZERO_TASK_STATE)) return false
  for (const event of state.Events ?? [])
    for (const name of Object.keys(event)) if (isZero(event, name, ZERO_TASK_EVENT)) return false
  return true
}

/** Returns the states with all fields, including zero values. */
export function expandTaskStates(
  stored: StoredTaskStates | null | undefined,
): Readonly<Record<string, TaskState>> | null {
  if (stored === null || stored === undefined) return null
  return mapValues(stored, ({ Events: events, ...state }) => ({
    ...ZERO_TASK_STATE,
    ...state,
    Events: (events ?? []).map((event) => ({ ...ZERO_TASK_EVENT, ...event })),
  }))
}

function mapValues<I, O>(
  map: Readonly<Record<string, I>>,
  convert: (value: I) => O,
): Readonly<Record<string, O>> {
  return Object.fromEntries(Object.entries(map).map(([name, value]) => [name, convert(value)]))
}

function withoutZeros<T extends object>(value: T, zeros: object): Partial<T> {
  const fields = Object.entries(value).filter(([name]) => !isZero(value, name, zeros))
  // Proof: the entries are fields of `value`.
  return Object.fromEntries(fields) as Partial<T>
}

function isZero(value: object, name: string, zeros: object): boolean {
  const field: unknown = Reflect.get(value, name)
  const zero: unknown = Reflect.get(zeros, name)
  return field === zero || (typeof field === 'object' && isEqual(field, zero))
}
