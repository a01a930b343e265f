import type { Allocation } from '@reeve/contract'
import type { AclPermissions } from '../session/acl-permissions.ts'
import { firstDisabledReason, requiresCapability, type DisabledReason } from './disabled-reason.ts'

type AllocationState = Pick<
  Allocation,
  'Namespace' | 'ClientStatus' | 'DesiredStatus' | 'TaskStates'
>
type AllocationCheck = (allocation: AllocationState, rights: AclPermissions) => DisabledReason

/** Client statuses of allocations that have ended. */
const TERMINAL_STATUSES: readonly string[] = ['complete', 'failed', 'lost']

function terminalReason({ ClientStatus }: AllocationState): DisabledReason {
  return TERMINAL_STATUSES.includes(ClientStatus)
    ? `The allocation has ended: it is ${ClientStatus}.`
    : undefined
}

export function runningTasks({ TaskStates }: Pick<Allocation, 'TaskStates'>): readonly string[] {
  return Object.entries(TaskStates ?? {})
    .filter(([, { State }]) => State === 'running')
    .map(([name]) => name)
}

function idleReason(allocation: AllocationState): DisabledReason {
  return runningTasks(allocation).length === 0 ? 'No task of the allocation is running.' : undefined
}

/** Why an action on the allocation is disabled, by its state or for this token. */
export const allocationDisabledReason = {
  stop: (allocation, permissions) =>
    firstDisabledReason(
      terminalReason(allocation),
      allocation.DesiredStatus !== 'run' && 'The allocation is already stopping.',
      requiresCapability(permissions, allocation.Namespace, 'alloc-lifecycle'),
    ),
  restart: (allocation, permissions) =>
    firstDisabledReason(
      terminalReason(allocation),
      idleReason(allocation),
      requiresCapability(permissions, allocation.Namespace, 'alloc-lifecycle'),
    ),
  signal: (allocation, permissions) =>
    firstDisabledReason(
      terminalReason(allocation),
      idleReason(allocation),
      requiresCapability(permissions, allocation.Namespace, 'alloc-lifecycle'),
    ),
  exec: (allocation, permissions) =>
    firstDisabledReason(
      terminalReason(allocation),
      idleReason(allocation),
      requiresCapability(permissions, allocation.Namespace, 'alloc-exec'),
    ),
  /** Logs. */
  readLogs: (allocation, permissions) =>
    requiresCapability(permissions, allocation.Namespace, 'read-logs', 'read-fs'),
  /** Files. */
  readFiles: (allocation, permissions) =>
    requiresCapability(permissions, allocation.Namespace, 'read-fs'),
  /** Stats. */
  readUsage: (allocation) => terminalReason(allocation),
} as const satisfies Record<string, AllocationCheck>
