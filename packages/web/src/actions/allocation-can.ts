import type { Allocation } from '@reeve/contract'
import type { Rights } from '../session/rights.ts'
import { firstReason, needs, type Verdict } from './verdict.ts'

type AllocationState = Pick<
  Allocation,
  'Namespace' | 'ClientStatus' | 'DesiredStatus' | 'TaskStates'
>
type AllocationCan = (allocation: AllocationState, rights: Rights) => Verdict

/** The states in which nothing of it runs any more. */
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
  stop: (allocation, rights) =>
    firstReason(
      ended(allocation),
      allocation.DesiredStatus !== 'run' && 'It is being stopped already.',
      needs(rights, allocation.Namespace, 'alloc-lifecycle'),
    ),
  restart: (allocation, rights) =>
    firstReason(
      ended(allocation),
      idle(allocation),
      needs(rights, allocation.Namespace, 'alloc-lifecycle'),
    ),
  signal: (allocation, rights) =>
    firstReason(
      ended(allocation),
      idle(allocation),
      needs(rights, allocation.Namespace, 'alloc-lifecycle'),
    ),
  exec: (allocation, rights) =>
    firstReason(
      ended(allocation),
      idle(allocation),
      needs(rights, allocation.Namespace, 'alloc-exec'),
    ),
  /** Logs. */
  readLogs: (allocation, rights) => needs(rights, allocation.Namespace, 'read-logs', 'read-fs'),
  /** Files. */
  readFiles: (allocation, rights) => needs(rights, allocation.Namespace, 'read-fs'),
  /** Stats. */
  readUsage: (allocation) => ended(allocation),
} as const satisfies Record<string, AllocationCan>
