import type { DeploymentGroupState, Job, TaskGroup } from '@reeve/contract'
import {
  groupStateOf,
  isClientTerminal,
  isServerTerminal,
  newGroupState,
  type AllocationRow,
  type PublicNode,
  isAwaitingPromotion,
  isGroupHealthy,
  isSchedulable,
} from '../../model/index.ts'
import {
  type DeploymentState,
  type GroupDeploymentChange,
  updateLimit,
  usesDeployments,
} from './deployment-state.ts'
import {
  connectionState,
  exitedUnasked,
  isFromOlderVersion,
  isMarkedForMigration,
  isReconnecting,
  nameIndexOf,
  sortByNameIndex,
  STOP_DESCRIPTIONS,
} from './allocation-state.ts'
import { AllocNameIndex } from './group-count.ts'
import { stopAsLost, type Placement, type Stop } from './reconcile-result.ts'
import type { ReconcileResult } from './reconcile-group.ts'
import type { UpdateClassifier } from './job-versions.ts'

interface SystemReconcileContext {
  readonly job: Job
  readonly nowMs: number
  readonly rollout: DeploymentState
  readonly updateTypes: UpdateClassifier
  /** Whether terminated allocations are replaced; otherwise they stay as they are. */
  readonly replacesTerminal: boolean
  /** Ready nodes in the pool and datacenters of the job, in order. */
  readonly nodes: readonly PublicNode[]
  readonly findNode: (id: string) => PublicNode | undefined
  /** True if the node is in the pool and datacenters of the job. */
  readonly isInPoolAndDatacenters: (node: PublicNode) => boolean
  /** True if the node is feasible for the group, regardless of capacity. */
  readonly isFeasible: (node: PublicNode, group: TaskGroup) => boolean
  /** Version for nodes without an allocation while the current version is not deployed. */
  readonly findRepairVersion: (groupName: string) => Job | undefined
}

/**
 * Reconciles one group of a system or sysbatch job on every feasible node. Infeasible nodes are
 * ignored.
 */
export function reconcileSystemGroup(
  group: TaskGroup,
  rows: readonly AllocationRow[],
  context: SystemReconcileContext,
): ReconcileResult {
  const groupState = new SystemGroupState(group, context)
  for (const row of sortByNameIndex(rows)) groupState.add(row)
  const missingPlacementsOnAll = missingPlacements(group, groupState, context)
  const exited = context.replacesTerminal
    ? []
    : rows.filter((row) => exitedUnasked(row, context.job))
  const exitedNodeIds = new Set(exited.map((row) => row.NodeID))
  const missing = missingPlacementsOnAll.filter(({ nodeId }) => !exitedNodeIds.has(nodeId ?? ''))
  const canaryPlan = planSystemCanaries(group, { rows, groupState, missing, context })
  const { job, rollout } = context
  const limit = updateLimit({
    group,
    rollout,
    usesDeployments: usesDeployments(job, group),
    hasUnpromotedCanaries: canaryPlan.isActive,
    // If a newer allocation runs on the node, its health counts instead.
    staying: [
      ...groupState.unchanged,
      ...exited.filter((row) => groupState.indexesOn(row.NodeID).length === 0),
    ],
  })
  const isCurrentVersion = !canaryPlan.isActive && !rollout.isPaused && !rollout.isFailed
  const downgrade = !isCurrentVersion && usesDeployments(job, group)
  const hasVersion =
    isCurrentVersion || rollout.isFailed || context.findRepairVersion(group.Name) !== undefined
  const allowed = missing.filter(
    (placement) => hasVersion || canaryPlan.newPlacements.has(placement),
  )
  const updateSlots = Math.max(0, limit - allowed.length)
  const replaced = groupState.destructive.slice(
    0,
    canaryPlan.isActive ? canaryPlan.replacedCount : updateSlots,
  )
  // These are not replaced, so they run until the new version is deployed.
  const [ending, kept] = downgrade ? [[], groupState.notUpdatable] : [groupState.notUpdatable, []]
  return {
    group,
    placements: [
      ...replacements(replaced, canaryPlan),
      ...versionedPlacements(allowed, canaryPlan, downgrade),
    ],
    stops: [
      ...groupState.stop,
      ...ending.map((row) => ({ row, reason: STOP_DESCRIPTIONS.nodeUnfit })),
    ],
    inPlaceUpdates: groupState.inPlace,
    disconnecting: groupState.disconnecting,
    reconnected: [...groupState.reconnected, ...kept.filter(isReconnecting)],
    rescheduleLater: [],
    disconnectReplaceLater: [],
    unknownReplaceLater: [],
    lostReplaceAtMs: undefined,
    ignoredCount: groupState.occupied - groupState.inPlace.length - replaced.length - ending.length,
    deploymentChange: systemDeploymentChange(group, {
      rows,
      groupState,
      nodesWithout: missingPlacementsOnAll.length,
      missingCount: missing.length,
      keptCount: kept.length,
      canaryPlan,
      context,
    }),
  }
}

/** Allocations of the group by node and by what happens to them. */
class SystemGroupState {
  readonly stop: Stop[] = []
  readonly inPlace: AllocationRow[] = []
  readonly destructive: AllocationRow[] = []
  /** To be updated, but their node is ineligible or no longer feasible. */
  readonly notUpdatable: AllocationRow[] = []
  /** Allocations of the current version, or on an unreachable node. */
  readonly unchanged: AllocationRow[] = []
  readonly disconnecting: AllocationRow[] = []
  readonly reconnected: AllocationRow[] = []
  /** Number of allocations that count, of any version, including completed work. */
  occupied = 0
  readonly #group: TaskGroup
  readonly #context: SystemReconcileContext
  readonly #indexes = new Map<string, number[]>()

  constructor(group: TaskGroup, context: SystemReconcileContext) {
    this.#group = group
    this.#context = context
  }

  /** Name indexes in use on a node. */
  indexesOn(nodeId: string): readonly number[] {
    return this.#indexes.get(nodeId) ?? []
  }

  add(row: AllocationRow): void {
    const { job, nowMs, findNode } = this.#context
    if (isServerTerminal(row)) return
    if (isClientTerminal(row)) {
      // Work completed by this version is not repeated.
      if (job.Type === 'sysbatch' && !isFromOlderVersion(row, job)) this.#occupy(row)
      return
    }
    const node = findNode(row.NodeID)
    const connection = connectionState(row, { node, nowMs, disconnect: this.#group.Disconnect })
    if (node === undefined || connection === 'lost') this.stop.push(stopAsLost(row, node))
    else if (this.#isSurplus(row)) this.#stopRow(row, STOP_DESCRIPTIONS.notNeeded)
    else if (connection === 'here') this.#addReachable(row, node)
    else {
      this.#occupy(row)
      this.unchanged.push(row)
      if (connection === 'disconnecting') this.disconnecting.push(row)
    }
  }

  #isSurplus(row: AllocationRow): boolean {
    return this.indexesOn(row.NodeID).length >= this.#group.Count
  }

  #addReachable(row: AllocationRow, node: PublicNode): void {
    const { isInPoolAndDatacenters, updateTypes } = this.#context
    if (isMarkedForMigration(row)) return this.#stopRow(row, STOP_DESCRIPTIONS.migrating)
    if (!isInPoolAndDatacenters(node)) return this.#stopRow(row, STOP_DESCRIPTIONS.nodeUnfit)
    const updateType = updateTypes.classify(row, this.#group)
    this.#occupy(row)
    if (updateType === 'destructive' && !this.#acceptsNewVersion(node)) {
      this.notUpdatable.push(row)
      return
    }
    if (isReconnecting(row)) this.reconnected.push(row)
    if (updateType === 'in-place') this.inPlace.push(row)
    else if (updateType === 'destructive') this.destructive.push(row)
    else this.unchanged.push(row)
  }

  #acceptsNewVersion(node: PublicNode): boolean {
    return isSchedulable(node) && this.#context.isFeasible(node, this.#group)
  }

  #occupy(row: AllocationRow): void {
    const indexes = this.#indexes.get(row.NodeID)
    if (indexes === undefined) this.#indexes.set(row.NodeID, [nameIndexOf(row)])
    else indexes.push(nameIndexOf(row))
    this.occupied += 1
  }

  #stopRow(row: AllocationRow, reason: string): void {
    this.stop.push({ row, reason })
  }
}

function missingPlacements(
  group: TaskGroup,
  groupState: SystemGroupState,
  { nodes, isFeasible }: SystemReconcileContext,
): readonly Placement[] {
  const missing: Placement[] = []
  for (const node of nodes) {
    const takenIndexes = groupState.indexesOn(node.ID)
    if (takenIndexes.length >= group.Count || !isFeasible(node, group)) continue
    const names = new AllocNameIndex(group.Count, takenIndexes)
    for (let count = takenIndexes.length; count < group.Count; count++)
      missing.push({ cause: 'missing', index: names.claim(undefined), nodeId: node.ID })
  }
  return missing
}

interface SystemCanaryPlan {
  readonly isActive: boolean
  readonly desired: number
  /** Canaries on nodes without an allocation of the job. */
  readonly newPlacements: ReadonlySet<Placement>
  /** Number of canaries that replace an older allocation on their node. */
  readonly replacedCount: number
}

interface SystemCanaryInput {
  readonly rows: readonly AllocationRow[]
  readonly groupState: SystemGroupState
  readonly missing: readonly Placement[]
  readonly context: SystemReconcileContext
}

/**
 * For system jobs, `canary` is the percentage of allocations that are updated first. A terminated
 * canary is replaced on its node; other empty nodes get one only if no older allocations are left
 * to replace.
 */
function planSystemCanaries(group: TaskGroup, input: SystemCanaryInput): SystemCanaryPlan {
  const { rows, groupState, missing, context } = input
  const { job, rollout } = context
  const state = groupStateOf(rollout.current, group.Name)
  const update = usesDeployments(job, group) ? group.Update : null
  const share = Math.ceil((groupState.destructive.length * (update?.Canary ?? 0)) / 100)
  const desired =
    state === undefined ? Math.min(share, update?.MaxParallel ?? 0) : state.DesiredCanaries
  const isActive = state === undefined ? desired > 0 : isAwaitingPromotion(state)
  const isOnHold = rollout.isPaused || rollout.isFailed
  const isCanary = (row: AllocationRow): boolean =>
    row.DeploymentStatus?.Canary === true && row.DeploymentID === rollout.current?.ID
  const canaryCount = groupState.unchanged.filter(isCanary).length
  const wanted = isActive && !isOnHold ? Math.max(0, desired - canaryCount) : 0
  const canaryNodeIds = new Set(wanted === 0 ? [] : rows.filter(isCanary).map((row) => row.NodeID))
  const [onCanaryNodes, onOtherNodes] = [true, false].map((hadCanary) =>
    missing.filter(({ nodeId }) => canaryNodeIds.has(nodeId ?? '') === hadCanary),
  )
  const canaryReplacements = (onCanaryNodes ?? []).slice(0, wanted)
  const replacedCount = Math.min(groupState.destructive.length, wanted - canaryReplacements.length)
  const last = (onOtherNodes ?? []).slice(0, wanted - canaryReplacements.length - replacedCount)
  return {
    isActive,
    desired,
    replacedCount,
    newPlacements: new Set([...canaryReplacements, ...last]),
  }
}

/** Placements of the new version on the nodes of the allocations that it replaces. */
function replacements(
  replaced: readonly AllocationRow[],
  { isActive }: SystemCanaryPlan,
): readonly Placement[] {
  return replaced.map((previous) => ({
    cause: 'destructive',
    index: nameIndexOf(previous),
    previous,
    nodeId: previous.NodeID,
    canary: isActive,
  }))
}

/** Marks the placements that are canaries; the others run the current or the repair version. */
function versionedPlacements(
  placements: readonly Placement[],
  { newPlacements }: SystemCanaryPlan,
  downgrade: boolean,
): readonly Placement[] {
  return placements.map((placement) =>
    newPlacements.has(placement) ? { ...placement, canary: true } : { ...placement, downgrade },
  )
}

interface SystemDeploymentInput {
  readonly rows: readonly AllocationRow[]
  readonly groupState: SystemGroupState
  /** Number of missing placements, and of those that may be placed. */
  readonly nodesWithout: number
  readonly missingCount: number
  /** Number of older allocations on nodes that accept no new ones. */
  readonly keptCount: number
  readonly canaryPlan: SystemCanaryPlan
  readonly context: SystemReconcileContext
}

function systemDeploymentChange(
  group: TaskGroup,
  input: SystemDeploymentInput,
): GroupDeploymentChange {
  const { groupState, missingCount, keptCount, context } = input
  const state = groupStateOf(context.rollout.current, group.Name)
  const hasNothingToDo =
    groupState.destructive.length + groupState.inPlace.length + missingCount + keptCount === 0
  const next = nextSystemGroupState(group, state, input)
  return {
    group: group.Name,
    state: next,
    // A group outside the deployment counts as done: its completion triggers no evaluation.
    isComplete: (next ?? state) === undefined || (hasNothingToDo && isGroupHealthy(next ?? state)),
  }
}

function nextSystemGroupState(
  group: TaskGroup,
  state: DeploymentGroupState | undefined,
  { rows, groupState, nodesWithout, canaryPlan, context }: SystemDeploymentInput,
): DeploymentGroupState | undefined {
  const { job, rollout } = context
  if (!usesDeployments(job, group) || group.Update === null) return undefined
  if (rollout.current !== undefined && !rollout.isActive) return undefined
  const changing = groupState.destructive.length + groupState.inPlace.length
  // The total is recomputed each time, because nodes join and leave during the rollout.
  const current = groupState.unchanged.filter((row) => !isFromOlderVersion(row, job)).length
  const total = nodesWithout + changing + current
  if (state !== undefined)
    return state.DesiredTotal === total ? undefined : { ...state, DesiredTotal: total }
  const isFirst = !rows.some(
    (row) => row.JobVersion === job.Version && !isFromOlderVersion(row, job),
  )
  if (nodesWithout + changing === 0 || !(isFirst || changing > 0)) return undefined
  return {
    ...newGroupState(group.Update),
    DesiredTotal: total,
    DesiredCanaries: canaryPlan.desired,
  }
}
