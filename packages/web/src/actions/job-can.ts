import type { Deployment, Job } from '@reeve/contract'
import type { Rights } from '../session/rights.ts'
import { firstReason, needs, type Verdict } from './verdict.ts'

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
type JobCan = (job: JobState, rights: Rights) => Verdict

/** A job of which children are dispatched; such a child carries the block but is none itself. */
export function isParameterized(job: Pick<Job, 'ParameterizedJob' | 'Dispatched'>): boolean {
  return job.ParameterizedJob !== null && !job.Dispatched
}

/** A job that never runs itself, only its children do. */
export function isParent(job: Pick<Job, 'Periodic' | 'ParameterizedJob' | 'Dispatched'>): boolean {
  return job.Periodic !== null || isParameterized(job)
}

const STOPPED = 'The job is stopped. Start it first.'

/** What may be done with a job in the state it is in, by this token. */
export const jobCan = {
  stop: (job, rights) =>
    firstReason(
      needs(rights, job.Namespace, 'submit-job', 'deregister-job'),
      job.Stop && 'The job is stopped already.',
    ),
  purge: (job, rights) => needs(rights, job.Namespace, 'submit-job', 'purge-job'),
  /** Registering the same definition again starts it. */
  start: (job, rights) =>
    firstReason(
      needs(rights, job.Namespace, 'submit-job', 'register-job'),
      !job.Stop && 'The job is not stopped.',
    ),
  edit: (job, rights) =>
    firstReason(
      needs(rights, job.Namespace, 'submit-job', 'register-job'),
      job.ParentID !== '' && 'This is a child job: edit its parent.',
    ),
  /** System jobs run once on each node and have no count to change. */
  scale: (job, rights) =>
    firstReason(
      needs(rights, job.Namespace, 'scale-job', 'submit-job'),
      job.Stop && STOPPED,
      job.Type.startsWith('sys') && 'A system job runs on every node: it has no count.',
    ),
  dispatch: (job, rights) =>
    firstReason(
      !isParameterized(job) && 'Only parameterized jobs can be dispatched.',
      needs(rights, job.Namespace, 'dispatch-job'),
      job.Stop && STOPPED,
    ),
  forcePeriodic: (job, rights) =>
    firstReason(
      job.Periodic === null && 'Only periodic jobs can be forced.',
      needs(rights, job.Namespace, 'dispatch-job', 'submit-job', 'force-periodic-job'),
      job.Stop && STOPPED,
    ),
  evaluate: (job, rights) =>
    firstReason(
      needs(rights, job.Namespace, 'submit-job', 'evaluate-job'),
      isParameterized(job) && 'A parameterized job itself does not run.',
      job.Periodic !== null && 'A periodic job itself does not run.',
    ),
  /** Contract: release job. */
  release: (job, rights) =>
    firstReason(
      needs(rights, job.Namespace, 'submit-job'),
      job.Quarantine === undefined && 'The job is not quarantined.',
    ),
  plan: (job, rights) => needs(rights, job.Namespace, 'submit-job', 'plan-job'),
  revert: (job, rights) => needs(rights, job.Namespace, 'submit-job', 'revert-job'),
  setStable: (job, rights) => needs(rights, job.Namespace, 'submit-job', 'stable-job'),
  /** Logs. */
  readLogs: (job, rights) => needs(rights, job.Namespace, 'read-logs', 'read-fs'),
} as const satisfies Record<string, JobCan>

type DeploymentCan = (deployment: Deployment, rights: Rights) => Verdict

/** The states from which a deployment still moves. */
const ACTIVE: readonly string[] = [
  'running',
  'paused',
  'initializing',
  'pending',
  'blocked',
  'unblocking',
]

export function isActive({ Status }: Pick<Deployment, 'Status'>): boolean {
  return ACTIVE.includes(Status)
}

function ended(deployment: Deployment): Verdict {
  return isActive(deployment) ? undefined : `The deployment has ended: it is ${deployment.Status}.`
}

/** What may be done with a deployment. */
export const deploymentCan = {
  promote: (deployment, rights) =>
    firstReason(
      ended(deployment),
      !hasUnpromoted(deployment) && 'No group has canaries to promote.',
      !hasHealthyCanaries(deployment) && 'The canaries are not all healthy yet.',
      needs(rights, deployment.Namespace, 'submit-job', 'promote-deployment'),
    ),
  fail: (deployment, rights) =>
    firstReason(
      ended(deployment),
      needs(rights, deployment.Namespace, 'submit-job', 'fail-deployment'),
    ),
  pause: (deployment, rights) =>
    firstReason(
      ended(deployment),
      needs(rights, deployment.Namespace, 'submit-job', 'pause-deployment'),
    ),
} as const satisfies Record<string, DeploymentCan>

function hasUnpromoted({ TaskGroups }: Deployment): boolean {
  return Object.values(TaskGroups).some((group) => group.DesiredCanaries > 0 && !group.Promoted)
}

function hasHealthyCanaries({ TaskGroups }: Deployment): boolean {
  return Object.values(TaskGroups).every(
    (group) =>
      group.DesiredCanaries === 0 || group.Promoted || group.HealthyAllocs >= group.DesiredCanaries,
  )
}
