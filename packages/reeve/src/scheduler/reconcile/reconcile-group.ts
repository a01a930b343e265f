import type { Deployment, DeploymentGroupState, Job, TaskGroup } from '@reeve/contract'
import type { Steps } from '@reeve/kit/slices.ts'
import {
  groupStateOf,
  newGroupState,
  type AllocationRow,
  type PublicNode,
  isAwaitingPromotion,
  isGroupHealthy,
} from '../../model/index.ts'
import {
  chooseCanaryIndexes,
  type DeploymentState,
  type GroupDeploymentChange,
  splitCanaries,
  updateLimit,
  usesDeployments,
} from './deployment-state.ts'
import {
  classify,
  type ClassifiedAllocations,
  type DelayedReschedule,
  reconcileReconnecting,
} from './classify.ts'
import {
  isFromOlderVersion,
  isReplacementDisabled,
  nameIndexOf,
  sortByNameIndex,
  STOP_DESCRIPTIONS,
  stopOnClientWaitMs,
  vacatesSlot,
} from './allocation-state.ts'
import { AllocNameIndex, canBeStopped, chooseAllocationsToStop } from './group-count.ts'
import { stopAsLost, type Placement, type Stop } from './reconcile-result.ts'
import { groupOf, type UpdateClassifier } from './job-versions.ts'

/** Result of reconciling a group, before any placement. */
export interface ReconcileResult {
  readonly group: TaskGroup
  readonly placements: readonly Placement[]
  readonly stops: readonly Stop[]
  /** Updated in place to the new version. */
  readonly inPlaceUpdates: readonly AllocationRow[]
  /** Become unknown, because their node is disconnected. */
  readonly disconnecting: readonly AllocationRow[]
  /** Were unknown, have reconnected, and stay. */
  readonly reconnected: readonly AllocationRow[]
  /** Failed; rescheduled later. */
  readonly rescheduleLater: readonly DelayedReschedule[]
  /** On a disconnected node; replaced later. */
  readonly disconnectReplaceLater: readonly DelayedReschedule[]
  /** Unknown already; replaced later. */
  readonly unknownReplaceLater: readonly DelayedReschedule[]
  /** Time at which newly lost allocations may be replaced, if not now. */
  readonly lostReplaceAtMs: number | undefined
  readonly ignoredCount: number
  readonly deploymentChange: GroupDeploymentChange
}

interface ReconcileContext {
  readonly job: Job
  readonly nowMs: number
  readonly evaluationIds: ReadonlySet<string>
  readonly isPendingEvaluation: (evaluationId: string) => boolean
  readonly rollout: DeploymentState
  readonly updateTypes: UpdateClassifier
  readonly findNode: (id: string) => PublicNode | undefined
  readonly findDeployment: (id: string) => Deployment | undefined
  /** Version for allocations without a predecessor while the current version is not deployed. */
  readonly findRepairVersion: (groupName: string) => Job | undefined
}

/** Computes the changes that bring a group of a service or batch job to its desired state. */
export function* reconcileGroup(
  group: TaskGroup,
  rows: readonly AllocationRow[],
  context: ReconcileContext,
): Steps<ReconcileResult> {
  const sorted = sortByNameIndex(rows)
  const split = splitCanaries(sorted, group.Name, context)
  const reconnects = reconcileReconnecting(classifyRows(split.others, group, context), sorted, {
    job: context.job,
    group,
  })
  yield
  // Canaries on disconnected nodes are replaced immediately.
  const canaries = classifyRows(split.active, { ...group, Disconnect: null }, context)
  const groupState = computeGroupState(group, reconnects.classified, context)
  const canaryPlan = planCanaries(group, { canaries, groupState, context })
  yield
  const isCurrentVersion = placesCurrentVersion(group, canaryPlan, context)
  // A group without deployments runs the new version everywhere already.
  const downgrade = !isCurrentVersion && usesDeployments(context.job, group)
  const replacementPlacements = yield* planReplacements(groupState, downgrade)
  const limited = limitPlacements(group, {
    ...groupState,
    replacementPlacements,
    canaryPlan,
    placesCurrentVersion: isCurrentVersion,
    downgrade,
    context,
  })
  yield
  const destructive = new Set(limited.destructive)
  const changed = new Set([...destructive, ...groupState.inPlace])
  return {
    group,
    placements: limited.place,
    stops: [
      ...split.stale.map((row) => ({ row, reason: STOP_DESCRIPTIONS.staleCanary })),
      ...canaries.migrate.map((row) => ({ row, reason: STOP_DESCRIPTIONS.migrating })),
      ...canaries.lost.map((row) => stopAsLost(row, context.findNode(row.NodeID))),
      ...reconnects.stops,
      ...groupState.stop,
    ],
    inPlaceUpdates: groupState.inPlace,
    disconnecting: groupState.disconnecting,
    reconnected: reconnects.reconnected,
    rescheduleLater: [...groupState.rescheduleLater, ...canaries.rescheduleLater].filter(
      ({ row }) => !changed.has(row),
    ),
    disconnectReplaceLater: groupState.disconnectReplaceLater,
    unknownReplaceLater: groupState.classified.unknownReplaceLater,
    lostReplaceAtMs: groupState.lostReplaceAtMs,
    ignoredCount: groupState.staying.length - changed.size + canaries.keep.length,
    deploymentChange: groupDeploymentChange(group, {
      rows,
      groupState,
      canaries,
      canaryPlan,
      replacementCount: replacementPlacements.length,
      context,
    }),
  }
}

function classifyRows(
  rows: readonly AllocationRow[],
  group: TaskGroup,
  { job, rollout, findNode, nowMs, evaluationIds, isPendingEvaluation }: ReconcileContext,
): ClassifiedAllocations {
  return classify(rows, {
    job,
    group,
    disconnect: group.Disconnect,
    findNode,
    nowMs,
    evaluationIds,
    isPendingEvaluation,
    activeDeploymentId: rollout.isActive ? rollout.current?.ID : undefined,
  })
}

/**
 * Allocations of a group that stay, migrate or stop, and the missing count. Unpromoted canaries are
 * not included.
 */
interface GroupReconcileState {
  readonly classified: ClassifiedAllocations
  readonly staying: readonly AllocationRow[]
  readonly migrating: readonly AllocationRow[]
  readonly stop: readonly Stop[]
  readonly disconnecting: readonly AllocationRow[]
  readonly rescheduleLater: readonly DelayedReschedule[]
  readonly disconnectReplaceLater: readonly DelayedReschedule[]
  readonly inPlace: readonly AllocationRow[]
  readonly destructive: readonly AllocationRow[]
  /**
   * Failed, disconnected and lost allocations to replace, as far as the count allows, and the
   * number missing beyond them.
   */
  readonly toReplace: readonly AllocationRow[]
  readonly missingCount: number
  readonly lostReplaceAtMs: number | undefined
  readonly mustWaitForLost: boolean
  readonly names: AllocNameIndex
}

function computeGroupState(
  group: TaskGroup,
  classified: ClassifiedAllocations,
  context: ReconcileContext,
): GroupReconcileState {
  const { lost, lostAwaitingReplacement, rescheduleNow, disconnectReplaceNow } = classified
  const vacating = classified.migrate.filter((row) => vacatesSlot(row, context.job))
  const migrate = classified.migrate.filter((row) => !vacating.includes(row))
  const state = groupStateOf(context.rollout.current, group.Name)
  const promoted = new Set(state?.Promoted === true ? state.PlacedCanaries : [])
  const toStop = chooseAllocationsToStop({ ...classified, migrate }, group.Count, promoted)
  const staying = classified.keep.filter((row) => !toStop.has(row))
  const migrating = migrate.filter((row) => !toStop.has(row))
  const openSlots = Math.max(0, group.Count - staying.length - migrating.length)
  const toReplace = [
    ...rescheduleNow,
    ...disconnectReplaceNow,
    ...lost,
    ...lostAwaitingReplacement,
  ].slice(0, openSlots)
  const chosen = new Set(toReplace)
  const waitMs = lost.length === 0 ? undefined : stopOnClientWaitMs(group)
  return {
    classified,
    staying,
    migrating,
    ...splitUpdates(staying, group, context),
    toReplace,
    missingCount: openSlots - toReplace.length,
    disconnecting: classified.disconnecting.filter((row) => !toStop.has(row)),
    rescheduleLater: classified.rescheduleLater.filter(({ row }) => !toStop.has(row)),
    disconnectReplaceLater: classified.disconnectReplaceLater.filter(({ row }) => !toStop.has(row)),
    lostReplaceAtMs: waitMs === undefined ? undefined : context.nowMs + waitMs,
    mustWaitForLost: classified.mustWaitForLost || waitMs !== undefined,
    names: new AllocNameIndex(group.Count, [...staying, ...migrating].map(nameIndexOf)),
    stop: [
      ...[...toStop]
        .filter(canBeStopped)
        .map((row) => ({ row, reason: STOP_DESCRIPTIONS.notNeeded })),
      ...[...migrating, ...vacating].map((row) => ({ row, reason: STOP_DESCRIPTIONS.migrating })),
      ...rescheduleNow
        .filter((row) => !chosen.has(row))
        .map((row) => ({ row, reason: STOP_DESCRIPTIONS.notNeeded })),
      ...lost.map((row) => stopAsLost(row, context.findNode(row.NodeID))),
    ],
  }
}

function splitUpdates(
  rows: readonly AllocationRow[],
  group: TaskGroup,
  { updateTypes }: ReconcileContext,
): Pick<GroupReconcileState, 'inPlace' | 'destructive'> {
  const inPlace: AllocationRow[] = []
  const destructive: AllocationRow[] = []
  for (const row of rows) {
    const kind = updateTypes.classify(row, group)
    if (kind === 'in-place') inPlace.push(row)
    else if (kind === 'destructive') destructive.push(row)
  }
  return { inPlace, destructive }
}

/** Canaries of a new version. */
interface CanaryPlan {
  /** True if canaries await promotion, including those placed now. */
  readonly isActive: boolean
  /** Desired number of canaries; 0 if none were requested. */
  readonly desired: number
  readonly placements: readonly Placement[]
  /** True if canaries are still to be placed, now or when the deployment continues. */
  readonly isIncomplete: boolean
}

interface CanaryPlanInput {
  readonly canaries: ClassifiedAllocations
  readonly groupState: GroupReconcileState
  readonly context: ReconcileContext
}

function planCanaries(
  group: TaskGroup,
  { canaries, groupState, context }: CanaryPlanInput,
): CanaryPlan {
  const { job, rollout } = context
  const state = groupStateOf(rollout.current, group.Name)
  const requested = usesDeployments(job, group) ? (group.Update?.Canary ?? 0) : 0
  const present = [...canaries.keep, ...canaries.rescheduleNow]
  // Replacements before promotion run the old version, so they have to be updated as well.
  const replacesOldVersion =
    isAwaitingPromotion(state) && groupState.toReplace.length + groupState.missingCount > 0
  const isNeeded =
    (groupState.destructive.length > 0 || replacesOldVersion) &&
    present.length < requested &&
    state?.Promoted !== true
  const mayPlace = isNeeded && !rollout.isPaused && !rollout.isFailed && !groupState.mustWaitForLost
  const indexes = chooseCanaryIndexes({
    wanted: mayPlace ? requested - present.length : 0,
    destructive: groupState.destructive,
    taken: [...groupState.staying, ...groupState.migrating],
    canaries: present,
    count: group.Count,
  })
  const replacements = canaries.rescheduleNow.map((previous): Placement => ({
    cause: 'failed',
    index: nameIndexOf(previous),
    previous,
    canary: true,
  }))
  const newCanaries = indexes.map((index): Placement => ({ cause: 'canary', index, canary: true }))
  return {
    isActive: isNeeded || isAwaitingPromotion(state),
    desired: isNeeded
      ? Math.max(requested, state?.DesiredCanaries ?? 0)
      : (state?.DesiredCanaries ?? 0),
    placements: groupState.mustWaitForLost ? [] : [...replacements, ...newCanaries],
    isIncomplete:
      isNeeded ||
      canaries.rescheduleNow.length +
        canaries.rescheduleLater.length +
        canaries.heldByDeployment.length >
        0,
  }
}

/** Placements created per step: some hundred microseconds. */
const PLACEMENTS_PER_SLICE = 1_000

/** Placements that the count requires, whether or not they are allowed now. */
function* planReplacements(
  groupState: GroupReconcileState,
  downgrade: boolean,
): Steps<readonly Placement[]> {
  const { toReplace, missingCount, names, classified } = groupState
  const [failed, stranded] = [
    new Set(classified.rescheduleNow),
    new Set(classified.disconnectReplaceNow),
  ]
  const causeOf = (row: AllocationRow): Placement['cause'] =>
    failed.has(row) ? 'failed' : stranded.has(row) ? 'stranded' : 'lost'
  const placements: Placement[] = toReplace.map((previous) => ({
    cause: causeOf(previous),
    index: names.claim(nameIndexOf(previous)),
    previous,
    downgrade,
  }))
  for (let count = 0; count < missingCount; count++) {
    placements.push({ cause: 'missing', index: names.claim(undefined), downgrade })
    if (count % PLACEMENTS_PER_SLICE === 0) yield
  }
  return placements
}

interface LimitPlacementsInput extends GroupReconcileState {
  readonly replacementPlacements: readonly Placement[]
  readonly canaryPlan: CanaryPlan
  readonly placesCurrentVersion: boolean
  readonly downgrade: boolean
  readonly context: ReconcileContext
}

/** Limits placements and destructive updates to those allowed now. */
function limitPlacements(
  group: TaskGroup,
  input: LimitPlacementsInput,
): { readonly place: readonly Placement[]; readonly destructive: readonly AllocationRow[] } {
  const { canaryPlan, migrating, staying, destructive, names, downgrade, context } = input
  const { rollout, job } = context
  const allowed = placementsAllowedNow(group, input)
  const limit = updateLimit({
    group,
    rollout,
    usesDeployments: usesDeployments(job, group),
    hasUnpromotedCanaries: canaryPlan.isActive,
    staying,
  })
  const updatesNow = destructive.slice(0, Math.max(0, limit - allowed.length))
  return {
    destructive: updatesNow,
    place: [
      ...updatesNow.map((previous) =>
        replacementOf('destructive', previous, { names, downgrade: false }),
      ),
      ...migrating
        .filter((row) => !isReplacementDisabled(row))
        .map((previous) => replacementOf('migrate', previous, { names, downgrade })),
      ...allowed,
      ...canaryPlan.placements,
    ],
  }
}

/** True if placements run the current version of the job. */
function placesCurrentVersion(
  group: TaskGroup,
  canaryPlan: CanaryPlan,
  { rollout, job }: ReconcileContext,
): boolean {
  if (rollout.isPaused || canaryPlan.isActive) return false
  return !(rollout.isFailed && usesDeployments(job, group))
}

/**
 * Placements that are allowed now. A failed deployment only ends the rollout of its version: all
 * missing allocations are placed. While it is paused or awaits promotion, or if it failed in
 * another region before it started here, allocations without a predecessor are placed only up to
 * the count of the older version.
 */
function placementsAllowedNow(group: TaskGroup, input: LimitPlacementsInput): readonly Placement[] {
  const {
    replacementPlacements: requested,
    staying,
    migrating,
    placesCurrentVersion: isCurrentVersion,
    mustWaitForLost,
    context,
  } = input
  if (mustWaitForLost) return []
  const { isPaused, isFailed } = context.rollout
  if (isCurrentVersion || (isFailed && !isPaused && hasStartedInRegion(context.rollout)))
    return requested
  const withPredecessor = requested.filter(({ cause }) => cause !== 'missing')
  const missing = requested.filter(({ cause }) => cause === 'missing')
  if (missing.length === 0) return withPredecessor
  const version = context.findRepairVersion(group.Name)
  const olderCount = version === undefined ? 0 : (groupOf(version, group.Name)?.Count ?? 0)
  const present = staying.length + migrating.length + withPredecessor.length
  const allowedMissing = Math.max(0, Math.min(group.Count, olderCount) - present)
  return [...withPredecessor, ...missing.slice(0, allowedMissing)]
}

/** Regions start one after the other; a failed one keeps the others from starting. */
function hasStartedInRegion({ current }: DeploymentState): boolean {
  if (current?.IsMultiregion !== true) return true
  return Object.values(current.TaskGroups).some(({ PlacedAllocs }) => PlacedAllocs > 0)
}

function replacementOf(
  cause: 'destructive' | 'migrate',
  previous: AllocationRow,
  { names, downgrade }: { readonly names: AllocNameIndex; readonly downgrade: boolean },
): Placement {
  return { cause, index: names.inherit(nameIndexOf(previous)), previous, downgrade }
}

interface GroupDeploymentInput {
  readonly rows: readonly AllocationRow[]
  readonly groupState: GroupReconcileState
  readonly canaries: ClassifiedAllocations
  readonly canaryPlan: CanaryPlan
  readonly replacementCount: number
  readonly context: ReconcileContext
}

function groupDeploymentChange(
  group: TaskGroup,
  input: GroupDeploymentInput,
): GroupDeploymentChange {
  const { groupState, canaryPlan, replacementCount, context } = input
  const state = groupStateOf(context.rollout.current, group.Name)
  const { destructive, inPlace, migrating, rescheduleLater } = groupState
  const hasNothingToDo =
    destructive.length +
      inPlace.length +
      migrating.length +
      rescheduleLater.length +
      replacementCount ===
      0 &&
    groupState.disconnectReplaceLater.length + groupState.classified.heldByDeployment.length ===
      0 &&
    !groupState.mustWaitForLost &&
    !canaryPlan.isIncomplete
  const next = nextGroupState(group, state, input)
  // A group outside the deployment counts as done: its completion triggers no evaluation.
  const isPart = state !== undefined || next !== undefined
  return {
    group: group.Name,
    state: next,
    isComplete: !isPart || (hasNothingToDo && isGroupHealthy(state)),
  }
}

function nextGroupState(
  group: TaskGroup,
  state: DeploymentGroupState | undefined,
  { rows, groupState, canaryPlan, replacementCount, context }: GroupDeploymentInput,
): DeploymentGroupState | undefined {
  const { job, rollout } = context
  if (!usesDeployments(job, group) || group.Update === null) return undefined
  if (rollout.current !== undefined && !rollout.isActive) return undefined
  if (state !== undefined)
    return canaryPlan.desired > state.DesiredCanaries
      ? { ...state, DesiredCanaries: canaryPlan.desired }
      : undefined
  const { destructive, inPlace } = groupState
  const total = replacementCount + destructive.length + inPlace.length
  const isUpdate = destructive.length + inPlace.length > 0
  const isFirst = !rows.some(
    (row) => row.JobVersion === job.Version && !isFromOlderVersion(row, job),
  )
  if (total === 0 || !(isFirst || isUpdate)) return undefined
  return {
    ...newGroupState(group.Update),
    DesiredTotal: total,
    DesiredCanaries: canaryPlan.desired,
  }
}
