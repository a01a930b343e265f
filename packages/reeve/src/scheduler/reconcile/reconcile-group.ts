import type { Deployment, DeploymentGroupState, Job, TaskGroup } from '@reeve/contract'
import type { Steps } from '@reeve/kit/slices.ts'
import {
  groupStateOf,
  newGroupState,
  type AllocationRow,
  type PublicNode,
} from '../../model/index.ts'
import { canaryIndexes, isOnTrial, splitCanaries } from './canary.ts'
import { classify, type Classified, type Deferred } from './classify.ts'
import { leavesForGood, leavesItsPlace } from './drain.ts'
import { lostWaitMs } from './lost.ts'
import { NameIndex } from './names.ts'
import { lostStop, type Placement, type Stop } from './placement.ts'
import { REASONS } from './reasons.ts'
import { resolveReturns } from './reconnect.ts'
import { groupOf } from './repair-versions.ts'
import { isDeployed, isRolledOut, type GroupRollout, type Rollout } from './rollout.ts'
import { indexOf, isOlder, sortByName } from './row-order.ts'
import { canBeStopped, chooseSurplus } from './surplus.ts'
import type { UpdateKinds } from './update-kind.ts'
import { updateLimit } from './update-limit.ts'

/** What a group needs. Nothing here has looked for room yet. */
export interface GroupChanges {
  readonly group: TaskGroup
  readonly place: readonly Placement[]
  readonly stop: readonly Stop[]
  /** Stay where they are and take over the new version. */
  readonly update: readonly AllocationRow[]
  /** Become unknown, because their node is silent. */
  readonly disconnect: readonly AllocationRow[]
  /** Were unknown, are back, and stay. */
  readonly reconnect: readonly AllocationRow[]
  /** Failed ones that are placed again when their time has come. */
  readonly later: readonly Deferred[]
  /** The same for those on silent nodes. */
  readonly strandedLater: readonly Deferred[]
  /** The same for those that are unknown already. */
  readonly unknownLater: readonly Deferred[]
  /** When what is lost now may be replaced, if not at once. */
  readonly lostDueMs: number | undefined
  readonly ignored: number
  readonly rollout: GroupRollout
}

export interface ReconcileContext {
  readonly job: Job
  readonly nowMs: number
  readonly evaluationIds: ReadonlySet<string>
  readonly isToCome: (evaluationId: string) => boolean
  readonly rollout: Rollout
  readonly kinds: UpdateKinds
  readonly findNode: (id: string) => PublicNode | undefined
  readonly findDeployment: (id: string) => Deployment | undefined
  /** What an allocation without a predecessor runs while the job's version is not rolled out. */
  readonly findRepairVersion: (groupName: string) => Job | undefined
}

/** Brings one group of a service or batch job to its count. */
export function* reconcileGroup(
  group: TaskGroup,
  rows: readonly AllocationRow[],
  context: ReconcileContext,
): Steps<GroupChanges> {
  const sorted = sortByName(rows)
  const split = splitCanaries(sorted, group.Name, context)
  const returns = resolveReturns(classifyOf(split.others, group, context), sorted, {
    job: context.job,
    group,
  })
  yield
  // A canary waits for no silent node: it is placed again as a canary elsewhere.
  const canaries = classifyOf(split.trial, { ...group, Disconnect: null }, context)
  const settled = settle(group, returns.classified, context)
  const trial = planTrial(group, { canaries, settled, context })
  yield
  const isReady = isReadyToPlace(group, trial, context)
  // A group that is not deployed step by step has the new version everywhere already.
  const downgrade = !isReady && isDeployed(context.job, group)
  const wanted = yield* replacements(settled, downgrade)
  const placing = admit(group, { ...settled, wanted, trial, isReady, downgrade, context })
  yield
  const destructive = new Set(placing.destructive)
  const changed = new Set([...destructive, ...settled.inPlace])
  return {
    group,
    place: placing.place,
    stop: [
      ...split.unneeded.map((row) => ({ row, reason: REASONS.canaryGivenUp })),
      ...canaries.migrate.map((row) => ({ row, reason: REASONS.migrating })),
      ...canaries.lost.map((row) => lostStop(row, context.findNode(row.NodeID))),
      ...returns.stops,
      ...settled.stop,
    ],
    update: settled.inPlace,
    disconnect: settled.disconnecting,
    reconnect: returns.kept,
    later: [...settled.later, ...canaries.later].filter(({ row }) => !changed.has(row)),
    strandedLater: settled.strandedLater,
    unknownLater: settled.classified.unknownLater,
    lostDueMs: settled.lostDueMs,
    ignored: settled.staying.length - changed.size + canaries.keep.length,
    rollout: groupRollout(group, {
      rows,
      settled,
      canaries,
      trial,
      wanted: wanted.length,
      context,
    }),
  }
}

function classifyOf(
  rows: readonly AllocationRow[],
  group: TaskGroup,
  { job, rollout, findNode, nowMs, evaluationIds, isToCome }: ReconcileContext,
): Classified {
  return classify(rows, {
    job,
    group,
    disconnect: group.Disconnect,
    findNode,
    nowMs,
    evaluationIds,
    isToCome,
    activeDeploymentId: rollout.isActive ? rollout.current?.ID : undefined,
  })
}

/** Who stays, who goes, and what is missing. Canaries on trial are beside all this. */
interface Settled {
  readonly classified: Classified
  readonly staying: readonly AllocationRow[]
  readonly moving: readonly AllocationRow[]
  readonly stop: readonly Stop[]
  readonly disconnecting: readonly AllocationRow[]
  readonly later: readonly Deferred[]
  readonly strandedLater: readonly Deferred[]
  readonly inPlace: readonly AllocationRow[]
  readonly destructive: readonly AllocationRow[]
  /** Failed, stranded and lost ones for which the count has room, and how many more it lacks. */
  readonly again: readonly AllocationRow[]
  readonly missing: number
  readonly lostDueMs: number | undefined
  readonly isWaiting: boolean
  readonly names: NameIndex
}

function settle(group: TaskGroup, classified: Classified, context: ReconcileContext): Settled {
  const { lost, lostBefore, failed, stranded } = classified
  const left = classified.migrate.filter((row) => leavesItsPlace(row, context.job))
  const migrate = classified.migrate.filter((row) => !left.includes(row))
  const state = groupStateOf(context.rollout.current, group.Name)
  const promoted = new Set(state?.Promoted === true ? state.PlacedCanaries : [])
  const surplus = chooseSurplus({ ...classified, migrate }, group.Count, promoted)
  const staying = classified.keep.filter((row) => !surplus.has(row))
  const moving = migrate.filter((row) => !surplus.has(row))
  const room = Math.max(0, group.Count - staying.length - moving.length)
  const again = [...failed, ...stranded, ...lost, ...lostBefore].slice(0, room)
  const chosen = new Set(again)
  const waitMs = lost.length === 0 ? undefined : lostWaitMs(group)
  return {
    classified,
    staying,
    moving,
    ...sortUpdates(staying, group, context),
    again,
    missing: room - again.length,
    disconnecting: classified.disconnecting.filter((row) => !surplus.has(row)),
    later: classified.later.filter(({ row }) => !surplus.has(row)),
    strandedLater: classified.strandedLater.filter(({ row }) => !surplus.has(row)),
    lostDueMs: waitMs === undefined ? undefined : context.nowMs + waitMs,
    isWaiting: classified.isWaiting || waitMs !== undefined,
    names: new NameIndex(group.Count, [...staying, ...moving].map(indexOf)),
    stop: [
      ...[...surplus].filter(canBeStopped).map((row) => ({ row, reason: REASONS.notNeeded })),
      ...[...moving, ...left].map((row) => ({ row, reason: REASONS.migrating })),
      ...failed
        .filter((row) => !chosen.has(row))
        .map((row) => ({ row, reason: REASONS.notNeeded })),
      ...lost.map((row) => lostStop(row, context.findNode(row.NodeID))),
    ],
  }
}

function sortUpdates(
  rows: readonly AllocationRow[],
  group: TaskGroup,
  { kinds }: ReconcileContext,
): Pick<Settled, 'inPlace' | 'destructive'> {
  const inPlace: AllocationRow[] = []
  const destructive: AllocationRow[] = []
  for (const row of rows) {
    const kind = kinds.of(row, group)
    if (kind === 'in-place') inPlace.push(row)
    else if (kind === 'destructive') destructive.push(row)
  }
  return { inPlace, destructive }
}

/** The trial of a new version by canaries. */
interface Trial {
  /** Whether canaries wait to be promoted, those that are placed now included. */
  readonly isOn: boolean
  /** How many there shall be; 0: none were ever asked for. */
  readonly desired: number
  readonly place: readonly Placement[]
  /** Some are still to be placed, now or when the deployment goes on. */
  readonly isIncomplete: boolean
}

interface TrialParts {
  readonly canaries: Classified
  readonly settled: Settled
  readonly context: ReconcileContext
}

function planTrial(group: TaskGroup, { canaries, settled, context }: TrialParts): Trial {
  const { job, rollout } = context
  const state = groupStateOf(rollout.current, group.Name)
  const asked = isDeployed(job, group) ? (group.Update?.Canary ?? 0) : 0
  const present = [...canaries.keep, ...canaries.failed]
  // What comes again during a trial is of the old version, so that it has to be replaced as well.
  const isOldAgain = isOnTrial(state) && settled.again.length + settled.missing > 0
  const isNeeded =
    (settled.destructive.length > 0 || isOldAgain) &&
    present.length < asked &&
    state?.Promoted !== true
  const mayPlace = isNeeded && !rollout.isPaused && !rollout.isFailed && !settled.isWaiting
  const indexes = canaryIndexes({
    wanted: mayPlace ? asked - present.length : 0,
    destructive: settled.destructive,
    taken: [...settled.staying, ...settled.moving],
    canaries: present,
    count: group.Count,
  })
  const again = canaries.failed.map((previous): Placement => ({
    why: 'failed',
    index: indexOf(previous),
    previous,
    canary: true,
  }))
  const fresh = indexes.map((index): Placement => ({ why: 'canary', index, canary: true }))
  return {
    isOn: isNeeded || isOnTrial(state),
    desired: isNeeded
      ? Math.max(asked, state?.DesiredCanaries ?? 0)
      : (state?.DesiredCanaries ?? 0),
    place: settled.isWaiting ? [] : [...again, ...fresh],
    isIncomplete:
      isNeeded || canaries.failed.length + canaries.later.length + canaries.held.length > 0,
  }
}

/** Names that are given in one step: some hundred microseconds. */
const NAMES_PER_STEP = 1_000

/** What the count lacks, whether or not it may be placed now. */
function* replacements(settled: Settled, downgrade: boolean): Steps<readonly Placement[]> {
  const { again, missing, names, classified } = settled
  const [failed, stranded] = [new Set(classified.failed), new Set(classified.stranded)]
  const why = (row: AllocationRow): Placement['why'] =>
    failed.has(row) ? 'failed' : stranded.has(row) ? 'stranded' : 'lost'
  const wanted: Placement[] = again.map((previous) => ({
    why: why(previous),
    index: names.take(indexOf(previous)),
    previous,
    downgrade,
  }))
  for (let count = 0; count < missing; count++) {
    wanted.push({ why: 'missing', index: names.take(undefined), downgrade })
    if (count % NAMES_PER_STEP === 0) yield
  }
  return wanted
}

interface AdmitParts extends Settled {
  readonly wanted: readonly Placement[]
  readonly trial: Trial
  readonly isReady: boolean
  readonly downgrade: boolean
  readonly context: ReconcileContext
}

/** What of all that may happen now. */
function admit(
  group: TaskGroup,
  parts: AdmitParts,
): { readonly place: readonly Placement[]; readonly destructive: readonly AllocationRow[] } {
  const { trial, moving, staying, destructive, names, downgrade, context } = parts
  const { rollout, job } = context
  const admitted = admittedNow(group, parts)
  const limit = updateLimit({
    group,
    rollout,
    isDeployed: isDeployed(job, group),
    isOnTrial: trial.isOn,
    staying,
  })
  const now = destructive.slice(0, Math.max(0, limit - admitted.length))
  return {
    destructive: now,
    place: [
      ...now.map((previous) => replacing('destructive', previous, { names, downgrade: false })),
      ...moving
        .filter((row) => !leavesForGood(row))
        .map((previous) => replacing('migrate', previous, { names, downgrade })),
      ...admitted,
      ...trial.place,
    ],
  }
}

/** Whether what is placed runs the job's own version. */
function isReadyToPlace(
  group: TaskGroup,
  trial: Trial,
  { rollout, job }: ReconcileContext,
): boolean {
  if (rollout.isPaused || trial.isOn) return false
  return !(rollout.isFailed && isDeployed(job, group))
}

/**
 * A deployment that has failed ends the roll-out of a version and nothing else: all that the count
 * lacks is placed. While one is paused or waits for a promotion, and where it failed in another
 * region before it began in this one, growth waits as well, so what has no predecessor is placed up
 * to the count of the version that it runs.
 */
function admittedNow(group: TaskGroup, parts: AdmitParts): readonly Placement[] {
  const { wanted, staying, moving, isReady, isWaiting, context } = parts
  if (isWaiting) return []
  const { isPaused, isFailed } = context.rollout
  if (isReady || (isFailed && !isPaused && hasBegun(context.rollout))) return wanted
  const returning = wanted.filter(({ why }) => why !== 'missing')
  const missing = wanted.filter(({ why }) => why === 'missing')
  if (missing.length === 0) return returning
  const version = context.findRepairVersion(group.Name)
  const before = version === undefined ? 0 : (groupOf(version, group.Name)?.Count ?? 0)
  const present = staying.length + moving.length + returning.length
  const lacking = Math.max(0, Math.min(group.Count, before) - present)
  return [...returning, ...missing.slice(0, lacking)]
}

/** Regions take turns: one that fails keeps the others from beginning. */
function hasBegun({ current }: Rollout): boolean {
  if (current?.IsMultiregion !== true) return true
  return Object.values(current.TaskGroups).some(({ PlacedAllocs }) => PlacedAllocs > 0)
}

function replacing(
  why: 'destructive' | 'migrate',
  previous: AllocationRow,
  { names, downgrade }: { readonly names: NameIndex; readonly downgrade: boolean },
): Placement {
  return { why, index: names.succeed(indexOf(previous)), previous, downgrade }
}

interface RolloutParts {
  readonly rows: readonly AllocationRow[]
  readonly settled: Settled
  readonly canaries: Classified
  readonly trial: Trial
  readonly wanted: number
  readonly context: ReconcileContext
}

function groupRollout(group: TaskGroup, parts: RolloutParts): GroupRollout {
  const { settled, trial, wanted, context } = parts
  const state = groupStateOf(context.rollout.current, group.Name)
  const { destructive, inPlace, moving, later } = settled
  const isSettled =
    destructive.length + inPlace.length + moving.length + later.length + wanted === 0 &&
    settled.strandedLater.length + settled.classified.held.length === 0 &&
    !settled.isWaiting &&
    !trial.isIncomplete
  const next = newState(group, state, parts)
  // Nobody looks again when a group that is not part of the deployment is complete.
  const isPart = state !== undefined || next !== undefined
  return {
    group: group.Name,
    state: next,
    isDone: !isPart || (isSettled && isRolledOut(state)),
  }
}

function newState(
  group: TaskGroup,
  state: DeploymentGroupState | undefined,
  { rows, settled, trial, wanted, context }: RolloutParts,
): DeploymentGroupState | undefined {
  const { job, rollout } = context
  if (!isDeployed(job, group) || group.Update === null) return undefined
  if (rollout.current !== undefined && !rollout.isActive) return undefined
  if (state !== undefined)
    return trial.desired > state.DesiredCanaries
      ? { ...state, DesiredCanaries: trial.desired }
      : undefined
  const { destructive, inPlace } = settled
  const total = wanted + destructive.length + inPlace.length
  const isUpdate = destructive.length + inPlace.length > 0
  const isFirst = !rows.some((row) => row.JobVersion === job.Version && !isOlder(row, job))
  if (total === 0 || !(isFirst || isUpdate)) return undefined
  return { ...newGroupState(group.Update), DesiredTotal: total, DesiredCanaries: trial.desired }
}
