import type { PublicNode } from '../../model/index.ts'

/** Values of `DesiredDescription`: why the servers stopped an allocation. */
export const STOP_DESCRIPTIONS = {
  jobStopped: 'allocation is not needed: its job was stopped',
  notNeeded: 'allocation is not needed after the job was updated',
  staleCanary: 'allocation is not needed: it is a canary of a deployment that was given up',
  migrating: 'allocation is being migrated',
  updating: 'allocation is being updated with its job',
  lost: (fate: string) => `allocation is lost: its node ${fate}`,
  unknown: (fate: string) => `allocation is unknown: its node ${fate}`,
  rescheduled: 'allocation was rescheduled because it failed',
  reconnected: 'allocation is not needed: the one that it stood in for is back',
  replacedWhileDisconnected:
    'allocation is not needed: another took its place while its node was disconnected',
  nodeUnfit: 'allocation is not needed: its node no longer takes the job',
  preempted: (winnerId: string) => `allocation was preempted by allocation ${winnerId}`,
} as const

/** Condition of a node, for the descriptions of lost and unknown allocations. */
export function nodeCondition(node: PublicNode | undefined): string {
  if (node === undefined) return 'is gone'
  const isConnected = node.Status !== 'down' && node.Status !== 'disconnected'
  return isConnected ? 'was disconnected for too long' : `is ${node.Status}`
}
