import type { Allocation } from '@reeve/contract'
import type { Rights } from '../session/rights.ts'
import { firstReason, needs, type Verdict } from './verdict.ts'

type AllocationState = Pick<
  Allocation,
  'Namespace' | 'ClientStatus' | 'DesiredStatus' | 'TaskStates'
>
type AllocationCan = (allocation: AllocationState, rights: Rights) => Verdict

/** Reference §4.5: the states in which nothing of it runs any more. */
const ENDED: readonly string[] = ['complete', 'failed', 'lost']

function ended({ ClientStatus }: AllocationState): Verdict {
  return ENDED.includes(ClientStatus)
    ? `The allocation has ended: it is ${ClientStatus}.`
    : undefined
}

export function runningTasks({ TaskStates }: Pick<Allocation, 'TaskStates'>): readonly string[] {
  return Object.entries(TaskStates ?? {})
    .filter(([, { State }]) => State === 'running')
    .map(([name]) => name)
}

function idle(allocation: AllocationState): Verdict {
  return runningTasks(allocation).length === 0 ? 'No task of it runs now.' : undefined
}

/** What may be done with an allocation in the state it is in, by this token. */
export const allocationCan = {
  /** Spec W: Allocations, stop. */
  stop: (allocation, rights) =>
    firstReason(
      ended(allocation),
      allocation.DesiredStatus !== 'run' && 'It is being stopped already.',
      needs(rights, allocation.Namespace, 'alloc-lifecycle'),
    ),
  /** Spec W: Allocations, restart. */
  restart: (allocation, rights) =>
    firstReason(
      ended(allocation),
      idle(allocation),
      needs(rights, allocation.Namespace, 'alloc-lifecycle'),
    ),
  /** Spec W: Allocations, signal. */
  signal: (allocation, rights) =>
    firstReason(
      ended(allocation),
      idle(allocation),
      needs(rights, allocation.Namespace, 'alloc-lifecycle'),
    ),
  /** Spec W: Allocations, exec. */
  exec: (allocation, rights) =>
    firstReason(
      ended(allocation),
      idle(allocation),
      needs(rights, allocation.Namespace, 'alloc-exec'),
    ),
  /** Reference §8.5: logs. */
  readLogs: (allocation, rights) => needs(rights, allocation.Namespace, 'read-logs', 'read-fs'),
  /** Reference §8.5: files. */
  readFiles: (allocation, rights) => needs(rights, allocation.Namespace, 'read-fs'),
  /** Reference §8.5: stats. */
  readUsage: (allocation) => ended(allocation),
} as const satisfies Record<string, AllocationCan>
