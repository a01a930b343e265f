import type { DeploymentGroupState, Job, TaskGroup } from '@reeve/contract'
import {
  groupStateOf,
  isClientTerminal,
  isServerTerminal,
  newGroupState,
  type AllocationRow,
  type PublicNode,
} from '../../model/index.ts'
import { isOnTrial } from './canary.ts'
import { contactWith, hasReturned } from './disconnect.ts'
import { mustLeave } from './drain.ts'
import { NameIndex } from './names.ts'
import { lostStop, type Placement, type Stop } from './placement.ts'
import { REASONS } from './reasons.ts'
import type { GroupChanges } from './reconcile-group.ts'
import { isDeployed, isRolledOut, type GroupRollout, type Rollout } from './rollout.ts'
import { endedByItself, indexOf, isOlder, sortByName } from './row-order.ts'
import type { UpdateKinds } from './update-kind.ts'
import { updateLimit } from './update-limit.ts'

export interface NodesContext {
  readonly job: Job
  readonly nowMs: number
  readonly rollout: Rollout
  readonly kinds: UpdateKinds
  /** Whether what ended by itself is placed again; else it stays as it is. */
  readonly revives: boolean
  /** The nodes of the job's pool and datacenters that take work, in order. */
  readonly nodes: readonly PublicNode[]
  readonly findNode: (id: string) => PublicNode | undefined
  /** Whether the node is in the job's pool and datacenters. */
  readonly isInBase: (node: PublicNode) => boolean
  /** Whether the node passes the rules of the group, room aside. */
  readonly isFeasible: (node: PublicNode, group: TaskGroup) => boolean
  /** What runs where nothing of the job runs yet, while the job's version is not rolled out. */
  readonly findRepairVersion: (groupName: string) => Job | undefined
}

/**
 * One group of a system or sysbatch job: on every node that can run it. Nodes that cannot are
 * passed over.
 */
export function reconcileNodes(
  group: TaskGroup,
  rows: readonly AllocationRow[],
  context: NodesContext,
): GroupChanges {
  const survey = new Survey(group, context)
  for (const row of sortByName(rows)) survey.take(row)
  const lacking = missingOn(group, survey, context)
  const ended = context.revives ? [] : rows.filter((row) => endedByItself(row, context.job))
  const left = new Set(ended.map((row) => row.NodeID))
  const missing = lacking.filter(({ nodeId }) => !left.has(nodeId ?? ''))
  const trial = planTrial(group, { rows, survey, missing, context })
  const { job, rollout } = context
  const limit = updateLimit({
    group,
    rollout,
    isDeployed: isDeployed(job, group),
    isOnTrial: trial.isOn,
    // A node that has another one by now has its say with that.
    staying: [...survey.unchanged, ...ended.filter((row) => survey.on(row.NodeID).length === 0)],
  })
  const isReady = !trial.isOn && !rollout.isPaused && !rollout.isFailed
  const downgrade = !isReady && isDeployed(job, group)
  const hasVersion =
    isReady || rollout.isFailed || context.findRepairVersion(group.Name) !== undefined
  const admitted = missing.filter((placement) => hasVersion || trial.fresh.has(placement))
  const room = Math.max(0, limit - admitted.length)
  const replaced = survey.destructive.slice(0, trial.isOn ? trial.replaced : room)
  // Nothing takes their place, so the version they run ends when the new one is rolled out.
  const [ending, kept] = downgrade ? [[], survey.unfit] : [survey.unfit, []]
  return {
    group,
    place: [
      ...replaced.map((previous): Placement => ({
        why: 'destructive',
        index: indexOf(previous),
        previous,
        nodeId: previous.NodeID,
        canary: trial.isOn,
      })),
      ...admitted.map((placement) =>
        trial.fresh.has(placement) ? { ...placement, canary: true } : { ...placement, downgrade },
      ),
    ],
    stop: [...survey.stop, ...ending.map((row) => ({ row, reason: REASONS.nodeUnfit }))],
    update: survey.inPlace,
    disconnect: survey.disconnecting,
    reconnect: [...survey.returned, ...kept.filter(hasReturned)],
    later: [],
    strandedLater: [],
    unknownLater: [],
    lostDueMs: undefined,
    ignored: survey.held - survey.inPlace.length - replaced.length - ending.length,
    rollout: nodesRollout(group, {
      rows,
      survey,
      lacking: lacking.length,
      missing: missing.length,
      kept: kept.length,
      trial,
      context,
    }),
  }
}

/** What stands on the nodes, allocation by allocation. */
class Survey {
  readonly stop: Stop[] = []
  readonly inPlace: AllocationRow[] = []
  readonly destructive: AllocationRow[] = []
  /** Would be replaced too, but their node takes no new work or can no longer run the group. */
  readonly unfit: AllocationRow[] = []
  /** Of this very version, or out of reach. */
  readonly unchanged: AllocationRow[] = []
  readonly disconnecting: AllocationRow[] = []
  readonly returned: AllocationRow[] = []
  /** How many nodes have one, of whatever version; work that is done counts. */
  held = 0
  readonly #group: TaskGroup
  readonly #context: NodesContext
  readonly #indexes = new Map<string, number[]>()

  constructor(group: TaskGroup, context: NodesContext) {
    this.#group = group
    this.#context = context
  }

  /** The indexes that are taken on a node. */
  on(nodeId: string): readonly number[] {
    return this.#indexes.get(nodeId) ?? []
  }

  take(row: AllocationRow): void {
    const { job, nowMs, findNode } = this.#context
    if (isServerTerminal(row)) return
    if (isClientTerminal(row)) {
      // Work that was done by this version stays done.
      if (job.Type === 'sysbatch' && !isOlder(row, job)) this.#hold(row)
      return
    }
    const node = findNode(row.NodeID)
    const contact = contactWith(row, { node, nowMs, disconnect: this.#group.Disconnect })
    if (node === undefined || contact === 'lost') this.stop.push(lostStop(row, node))
    else if (this.#isUnwanted(row)) this.#end(row, REASONS.notNeeded)
    else if (contact === 'here') this.#takeReachable(row, node)
    else {
      this.#hold(row)
      this.unchanged.push(row)
      if (contact === 'disconnecting') this.disconnecting.push(row)
    }
  }

  #isUnwanted(row: AllocationRow): boolean {
    return this.on(row.NodeID).length >= this.#group.Count
  }

  #takeReachable(row: AllocationRow, node: PublicNode): void {
    const { isInBase, kinds } = this.#context
    if (mustLeave(row)) return this.#end(row, REASONS.migrating)
    if (!isInBase(node)) return this.#end(row, REASONS.nodeUnfit)
    const kind = kinds.of(row, this.#group)
    this.#hold(row)
    if (kind === 'destructive' && !this.#takesNew(node)) {
      this.unfit.push(row)
      return
    }
    if (hasReturned(row)) this.returned.push(row)
    if (kind === 'in-place') this.inPlace.push(row)
    else if (kind === 'destructive') this.destructive.push(row)
    else this.unchanged.push(row)
  }

  #takesNew(node: PublicNode): boolean {
    return takesWork(node) && this.#context.isFeasible(node, this.#group)
  }

  #hold(row: AllocationRow): void {
    const indexes = this.#indexes.get(row.NodeID)
    if (indexes === undefined) this.#indexes.set(row.NodeID, [indexOf(row)])
    else indexes.push(indexOf(row))
    this.held += 1
  }

  #end(row: AllocationRow, reason: string): void {
    this.stop.push({ row, reason })
  }
}

function takesWork(node: PublicNode): boolean {
  return (
    node.Status === 'ready' &&
    node.SchedulingEligibility === 'eligible' &&
    node.DrainStrategy === null
  )
}

function missingOn(
  group: TaskGroup,
  survey: Survey,
  { nodes, isFeasible }: NodesContext,
): readonly Placement[] {
  const missing: Placement[] = []
  for (const node of nodes) {
    const held = survey.on(node.ID)
    if (held.length >= group.Count || !isFeasible(node, group)) continue
    const names = new NameIndex(group.Count, held)
    for (let count = held.length; count < group.Count; count++)
      missing.push({ why: 'missing', index: names.take(undefined), nodeId: node.ID })
  }
  return missing
}

interface NodesTrial {
  readonly isOn: boolean
  readonly desired: number
  /** Canaries that come where nothing of the job is. */
  readonly fresh: ReadonlySet<Placement>
  /** How many take the place of the old one on their node. */
  readonly replaced: number
}

interface NodesTrialParts {
  readonly rows: readonly AllocationRow[]
  readonly survey: Survey
  readonly missing: readonly Placement[]
  readonly context: NodesContext
}

/**
 * Of a system job `canary` is the share, in percent, of the allocations that are replaced first. A
 * canary that ended comes again on its node; no other node that has nothing of the job gets one
 * while there are old ones to replace.
 */
function planTrial(group: TaskGroup, parts: NodesTrialParts): NodesTrial {
  const { rows, survey, missing, context } = parts
  const { job, rollout } = context
  const state = groupStateOf(rollout.current, group.Name)
  const update = isDeployed(job, group) ? group.Update : null
  const share = Math.ceil((survey.destructive.length * (update?.Canary ?? 0)) / 100)
  const desired =
    state === undefined ? Math.min(share, update?.MaxParallel ?? 0) : state.DesiredCanaries
  const isOn = state === undefined ? desired > 0 : isOnTrial(state)
  const isHeld = rollout.isPaused || rollout.isFailed
  const isCanary = (row: AllocationRow): boolean =>
    row.DeploymentStatus?.Canary === true && row.DeploymentID === rollout.current?.ID
  const present = survey.unchanged.filter(isCanary).length
  const wanted = isOn && !isHeld ? Math.max(0, desired - present) : 0
  const tried = new Set(wanted === 0 ? [] : rows.filter(isCanary).map((row) => row.NodeID))
  const [again, others] = [true, false].map((wasTried) =>
    missing.filter(({ nodeId }) => tried.has(nodeId ?? '') === wasTried),
  )
  const first = (again ?? []).slice(0, wanted)
  const replaced = Math.min(survey.destructive.length, wanted - first.length)
  const last = (others ?? []).slice(0, wanted - first.length - replaced)
  return { isOn, desired, replaced, fresh: new Set([...first, ...last]) }
}

interface NodesRolloutParts {
  readonly rows: readonly AllocationRow[]
  readonly survey: Survey
  /** How many nodes have none, and how many of those may get one. */
  readonly lacking: number
  readonly missing: number
  /** How many nodes that take no new work have an older one. */
  readonly kept: number
  readonly trial: NodesTrial
  readonly context: NodesContext
}

function nodesRollout(group: TaskGroup, parts: NodesRolloutParts): GroupRollout {
  const { survey, missing, kept, context } = parts
  const state = groupStateOf(context.rollout.current, group.Name)
  const isSettled = survey.destructive.length + survey.inPlace.length + missing + kept === 0
  const next = newState(group, state, parts)
  return {
    group: group.Name,
    state: next,
    // Nobody looks again when a group that is not part of the deployment is complete.
    isDone: (next ?? state) === undefined || (isSettled && isRolledOut(next ?? state)),
  }
}

function newState(
  group: TaskGroup,
  state: DeploymentGroupState | undefined,
  { rows, survey, lacking, trial, context }: NodesRolloutParts,
): DeploymentGroupState | undefined {
  const { job, rollout } = context
  if (!isDeployed(job, group) || group.Update === null) return undefined
  if (rollout.current !== undefined && !rollout.isActive) return undefined
  const changing = survey.destructive.length + survey.inPlace.length
  // Nodes come and go while it is rolled out, so the total is counted anew each time.
  const current = survey.unchanged.filter((row) => !isOlder(row, job)).length
  const total = lacking + changing + current
  if (state !== undefined)
    return state.DesiredTotal === total ? undefined : { ...state, DesiredTotal: total }
  const isFirst = !rows.some((row) => row.JobVersion === job.Version && !isOlder(row, job))
  if (lacking + changing === 0 || !(isFirst || changing > 0)) return undefined
  return { ...newGroupState(group.Update), DesiredTotal: total, DesiredCanaries: trial.desired }
}
