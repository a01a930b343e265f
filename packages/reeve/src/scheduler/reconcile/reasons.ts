/** Why the servers ended an allocation: its `DesiredDescription` (scheduling reference §1.3). */
export const REASONS = {
  jobStopped: 'allocation is not needed: its job was stopped',
  notNeeded: 'allocation is not needed after the job was updated',
  migrating: 'allocation is being migrated',
  updating: 'allocation is being updated with its job',
  lost: 'allocation is lost: its node is down',
  rescheduled: 'allocation was rescheduled because it failed',
  nodeUnfit: 'allocation is not needed: its node no longer takes the job',
} as const
