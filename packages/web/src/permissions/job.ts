import type { Deployment, Job } from '@reeve/contract'
import type { AclPermissions } from '../session/acl-permissions.ts'
import { firstDisabledReason, requiresCapability, type DisabledReason } from './disabled-reason.ts'

type JobState = Pick<
  Job,
  | 'Namespace'
  | 'Stop'
  | 'Type'
  | 'ParameterizedJob'
  | 'Dispatched'
  | 'Periodic'
  | 'ParentID'
  | 'Quarantine'
>
type JobCheck = (job: JobState, rights: AclPermissions) => DisabledReason

/** Reports whether child jobs are dispatched from the job; a child itself is not parameterized. */
export function isParameterized(job: Pick<Job, 'ParameterizedJob' | 'Dispatched'>): boolean {
  return job.ParameterizedJob !== null && !job.Dispatched
}

/** Reports whether only child jobs run, and never the job itself. */
export function isParent(job: Pick<Job, 'Periodic' | 'ParameterizedJob' | 'Dispatched'>): boolean {
  return job.Periodic !== null || isParameterized(job)
}

const STOPPED_REASON = 'The job is stopped. Start it first.'

/** Why an action on the job is disabled, by its state or for this token. */
export const jobDisabledReason = {
  stop: (job, permissions) =>
    firstDisabledReason(
      requiresCapability(permissions, job.Namespace, 'submit-job', 'deregister-job'),
      job.Stop && 'The job is already stopped.',
    ),
  purge: (job, permissions) =>
    requiresCapability(permissions, job.Namespace, 'submit-job', 'purge-job'),
  /** Registering the same definition again starts it. */
  start: (job, permissions) =>
    firstDisabledReason(
      requiresCapability(permissions, job.Namespace, 'submit-job', 'register-job'),
      !job.Stop && 'The job is not stopped.',
    ),
  edit: (job, permissions) =>
    firstDisabledReason(
      requiresCapability(permissions, job.Namespace, 'submit-job', 'register-job'),
      job.ParentID !== '' && 'This is a child job: edit its parent.',
    ),
  /** System jobs run once on each node and have no count to change. */
  scale: (job, permissions) =>
    firstDisabledReason(
      requiresCapability(permissions, job.Namespace, 'scale-job', 'submit-job'),
      job.Stop && STOPPED_REASON,
      job.Type.startsWith('sys') && 'A system job runs on every node: it has no count.',
    ),
  dispatch: (job, permissions) =>
    firstDisabledReason(
      !isParameterized(job) && 'Only parameterized jobs can be dispatched.',
      requiresCapability(permissions, job.Namespace, 'dispatch-job'),
      job.Stop && STOPPED_REASON,
    ),
  forcePeriodic: (job, permissions) =>
    firstDisabledReason(
      job.Periodic === null && 'Only periodic jobs can be forced.',
      requiresCapability(
        permissions,
        job.Namespace,
        'dispatch-job',
        'submit-job',
        'force-periodic-job',
      ),
      job.Stop && STOPPED_REASON,
    ),
  evaluate: (job, permissions) =>
    firstDisabledReason(
      requiresCapability(permissions, job.Namespace, 'submit-job', 'evaluate-job'),
      isParameterized(job) && 'Only child jobs of a parameterized job run.',
      job.Periodic !== null && 'Only child jobs of a periodic job run.',
    ),
  /** Contract: release job. */
  release: (job, permissions) =>
    firstDisabledReason(
      requiresCapability(permissions, job.Namespace, 'submit-job'),
      job.Quarantine === undefined && 'The job is not quarantined.',
    ),
  plan: (job, permissions) =>
    requiresCapability(permissions, job.Namespace, 'submit-job', 'plan-job'),
  revert: (job, permissions) =>
    requiresCapability(permissions, job.Namespace, 'submit-job', 'revert-job'),
  setStable: (job, permissions) =>
    requiresCapability(permissions, job.Namespace, 'submit-job', 'stable-job'),
  /** Logs. */
  readLogs: (job, permissions) =>
    requiresCapability(permissions, job.Namespace, 'read-logs', 'read-fs'),
} as const satisfies Record<string, JobCheck>

type DeploymentCheck = (deployment: Deployment, rights: AclPermissions) => DisabledReason

/** Statuses of deployments that have not ended. */
const ACTIVE_STATUSES: readonly string[] = [
  'running',
  'paused',
  'initializing',
  'pending',
  'blocked',
  'unblocking',
]

export function isActive({ Status }: Pick<Deployment, 'Status'>): boolean {
  return ACTIVE_STATUSES.includes(Status)
}

function terminalReason(deployment: Deployment): DisabledReason {
  return isActive(deployment) ? undefined : `The deployment has ended: it is ${deployment.Status}.`
}

/** Why an action on a deployment is disabled. */
export const deploymentDisabledReason = {
  promote: (deployment, permissions) =>
    firstDisabledReason(
      terminalReason(deployment),
      !hasUnpromotedCanaries(deployment) && 'No group has canaries to promote.',
      !hasHealthyCanaries(deployment) && 'The canaries are not all healthy yet.',
      requiresCapability(permissions, deployment.Namespace, 'submit-job', 'promote-deployment'),
    ),
  fail: (deployment, permissions) =>
    firstDisabledReason(
      terminalReason(deployment),
      requiresCapability(permissions, deployment.Namespace, 'submit-job', 'fail-deployment'),
    ),
  pause: (deployment, permissions) =>
    firstDisabledReason(
      terminalReason(deployment),
      requiresCapability(permissions, deployment.Namespace, 'submit-job', 'pause-deployment'),
    ),
} as const satisfies Record<string, DeploymentCheck>

function hasUnpromotedCanaries({ TaskGroups }: Deployment): boolean {
  return Object.values(TaskGroups).some((group) => group.DesiredCanaries > 0 && !group.Promoted)
}

function hasHealthyCanaries({ TaskGroups }: Deployment): boolean {
  return Object.values(TaskGroups).every(
    (group) =>
      group.DesiredCanaries === 0 || group.Promoted || group.HealthyAllocs >= group.DesiredCanaries,
  )
}
