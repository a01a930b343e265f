import type { DisconnectStrategy, Job, TaskGroup } from '@reeve/contract'
import {
  isClientTerminal,
  isServerTerminal,
  type AllocationRow,
  type PublicNode,
} from '../../model/index.ts'
import { contactWith, hasReturned } from './disconnect.ts'
import { leavesForGood, leavesItsPlace, mustLeave } from './drain.ts'
import { replacementOfLost } from './lost.ts'
import { decideReschedule } from './reschedule.ts'
import { isOlder, isReplaced } from './row-order.ts'
import { unknownSinceMs } from './state-history.ts'

/** The allocations of one group, by what has become of them. Each list is in the order given. */
export interface Classified {
  /** Count towards the group where they are. */
  readonly keep: readonly AllocationRow[]
  /** Must leave their node. */
  readonly migrate: readonly AllocationRow[]
  /** Their node is gone. */
  readonly lost: readonly AllocationRow[]
  /** Were stopped as lost before, and may be placed again now. */
  readonly lostBefore: readonly AllocationRow[]
  /** Failed, and may be placed again now. */
  readonly failed: readonly AllocationRow[]
  /** On a node that is silent: placed again now, though they may go on there. */
  readonly stranded: readonly AllocationRow[]
  /** Failed, among `keep` until they may be placed again. */
  readonly later: readonly Deferred[]
  /** The same, but their deployment has to allow it. */
  readonly held: readonly AllocationRow[]
  /** Become unknown now; also among `keep`, `stranded` or neither. */
  readonly disconnecting: readonly AllocationRow[]
  /** Of those, the ones whose replacement has to wait. */
  readonly strandedLater: readonly Deferred[]
  /** The same for those that are unknown already. */
  readonly unknownLater: readonly Deferred[]
  /** Were unknown, and their node has spoken. */
  readonly returning: readonly AllocationRow[]
  /** Whether something that was lost may still run, so that nothing may be placed. */
  readonly isWaiting: boolean
}

export interface Deferred {
  readonly row: AllocationRow
  readonly dueMs: number
}

export interface ClassifyContext {
  readonly job: Job
  readonly group: TaskGroup
  /** Null: nothing of the group waits for a silent node. */
  readonly disconnect: DisconnectStrategy | null
  readonly findNode: (id: string) => PublicNode | undefined
  readonly nowMs: number
  readonly evaluationIds: ReadonlySet<string>
  readonly isToCome: (evaluationId: string) => boolean
  /** The deployment that decides alone when its failed allocations are replaced. */
  readonly activeDeploymentId: string | undefined
}

type DeferredName = 'later' | 'strandedLater' | 'unknownLater'
type ListName = Exclude<keyof Classified, DeferredName | 'isWaiting' | 'held'>
type Fate =
  | Exclude<ListName, 'disconnecting'>
  | 'forget'
  | 'wait'
  | 'held'
  | { readonly in: DeferredName; readonly dueMs: number }

/** The first rule that applies. */
export function classify(rows: readonly AllocationRow[], context: ClassifyContext): Classified {
  const lists: Record<ListName, AllocationRow[]> = {
    keep: [],
    migrate: [],
    lost: [],
    lostBefore: [],
    failed: [],
    stranded: [],
    disconnecting: [],
    returning: [],
  }
  const deferred: Record<DeferredName, Deferred[]> = {
    later: [],
    strandedLater: [],
    unknownLater: [],
  }
  const held: AllocationRow[] = []
  let isWaiting = false
  for (const row of rows) {
    const { fate, disconnects } = fateOf(row, context)
    if (disconnects === true) lists.disconnecting.push(row)
    if (fate === 'wait') isWaiting = true
    else if (typeof fate === 'object') {
      lists.keep.push(row)
      deferred[fate.in].push({ row, dueMs: fate.dueMs })
    } else if (fate === 'held') {
      lists.keep.push(row)
      held.push(row)
    } else if (fate !== 'forget') lists[fate].push(row)
  }
  return { ...lists, ...deferred, held, isWaiting }
}

interface Verdict {
  readonly fate: Fate
  readonly disconnects?: boolean
}

function fateOf(row: AllocationRow, context: ClassifyContext): Verdict {
  if (isServerTerminal(row)) return { fate: fateOfStopped(row, context) }
  if (isClientTerminal(row)) return { fate: fateOfEnded(row, context) }
  const { disconnect, nowMs, findNode } = context
  const contact = contactWith(row, { disconnect, nowMs, node: findNode(row.NodeID) })
  switch (contact) {
    case 'lost':
      return { fate: 'lost' }
    case 'disconnecting':
      return { fate: fateOfStranded(row, context, nowMs), disconnects: true }
    case 'unknown': {
      const sinceMs = unknownSinceMs(row) ?? nowMs
      const fate = fateOfStranded(row, context, sinceMs)
      if (typeof fate !== 'object') return { fate }
      // By a clock that was set back, its delay begins ahead.
      const aheadMs = Math.max(0, sinceMs - nowMs)
      return { fate: { in: 'unknownLater', dueMs: fate.dueMs + aheadMs } }
    }
    case 'here':
      if (mustLeave(row)) return { fate: 'migrate' }
      return { fate: hasReturned(row) ? 'returning' : 'keep' }
  }
}

/** Told to stop. */
function fateOfStopped(row: AllocationRow, context: ClassifyContext): Fate {
  const { job } = context
  if (leavesForGood(row)) return leavesItsPlace(row, job) ? 'forget' : 'keep'
  const lost = replacementOfLost(row, context)
  if (lost !== 'none') return lost === 'wait' ? 'wait' : 'lostBefore'
  return job.Type === 'batch' && isDone(row, job) ? 'keep' : 'forget'
}

/**
 * Work of this version of a batch job that ended well. Told to stop, it is done all the same if it
 * ended before the stop reached it.
 */
export function isDone(row: AllocationRow, job: Job): boolean {
  if (row.ClientStatus !== 'complete' || isReplaced(row) || isOlder(row, job)) return false
  if (!isServerTerminal(row)) return true
  return row.DesiredTransition?.Reschedule !== true && !wasKilled(row)
}

/** A task that is killed ends without failing too, so what became of it is in its events. */
function wasKilled(row: AllocationRow): boolean {
  const tasks = Object.values(row.TaskStates ?? {})
  if (tasks.length === 0) return true
  return tasks.some((task) =>
    (task.Events ?? []).some((event) => event.Type === 'Killing' || event.Type === 'Killed'),
  )
}

/** Ended on its node though it should run. */
function fateOfEnded(row: AllocationRow, context: ClassifyContext): Fate {
  const { job } = context
  // It failed where nobody saw it, and something has taken its place since.
  if (row.ClientStatus === 'failed' && hasReturned(row) && isReplaced(row)) return 'returning'
  if (row.DeploymentStatus?.Canary === true && mustLeave(row)) return 'migrate'
  if (isReplaced(row)) return 'forget'
  // A new version of a batch job runs again even where the old one has finished.
  if (job.Type === 'batch' && isOlder(row, job)) return 'forget'
  if (row.ClientStatus !== 'failed') return job.Type === 'batch' ? 'keep' : 'forget'
  const decision = decideReschedule(row, { ...context, policy: context.group.ReschedulePolicy })
  if (decision.when === 'now') return 'failed'
  if (decision.when === 'held') return 'held'
  return decision.when === 'later' ? { in: 'later', dueMs: decision.dueMs } : 'keep'
}

/**
 * Its node is silent: whether something else runs in its place meanwhile. That says nothing about
 * the version it runs, so no deployment has to allow it.
 */
function fateOfStranded(row: AllocationRow, context: ClassifyContext, failedMs: number): Fate {
  if (context.disconnect?.Replace === false) return 'keep'
  if (isReplaced(row)) return 'forget'
  const policy = context.group.ReschedulePolicy
  const { nowMs, evaluationIds, isToCome } = context
  const decision = decideReschedule(row, { nowMs, evaluationIds, isToCome, policy, failedMs })
  if (decision.when === 'now') return 'stranded'
  return decision.when === 'later' ? { in: 'strandedLater', dueMs: decision.dueMs } : 'keep'
}
