import type {
  AllocationStub,
  Deployment,
  Evaluation,
  Job,
  NextAttempt,
  TaskGroup,
  TaskState,
} from '@reeve/contract'
import { formatDurationNs, nsFromMs, ZERO_TIME } from '@reeve/kit/duration.ts'
import { isActiveDeployment } from '../deployment/deployment-status.ts'

/** Input for the next attempt of a failed allocation. */
export interface NextAttemptInput {
  readonly allocation: AllocationStub
  /** The failed task; empty for the allocation as a whole. */
  readonly task: string
  /** The registered job. */
  readonly job: Pick<Job, 'Stop' | 'Version'> | undefined
  /** The group in the version that the allocation runs. */
  readonly group: Pick<TaskGroup, 'Name' | 'Tasks' | 'ReschedulePolicy'> | undefined
  /** The evaluation that will replace the allocation. */
  readonly followUp: Pick<Evaluation, 'Status' | 'WaitUntil'> | undefined
  readonly deployment: Pick<Deployment, 'Status'> | undefined
  /** Open evaluations of the job. */
  readonly openEvaluations: readonly Pick<Evaluation, 'Status'>[]
}

/** Returns when and how a failed allocation is retried, or why it is not. */
export function nextAttempt(input: NextAttemptInput): NextAttempt {
  const { allocation, job } = input
  const { NextAllocation, ClientStatus, DesiredStatus } = allocation
  if (NextAllocation !== '')
    return {
      ...newAttempt('replaced', 'It was replaced by a new allocation.'),
      AllocID: NextAllocation,
    }
  if (job === undefined) return newAttempt('none', 'The job is no longer registered.')
  if (job.Stop) return newAttempt('none', 'The job is stopped.')
  if (DesiredStatus !== 'run') return newAttempt('none', 'The allocation was stopped.')
  const isAlive = ClientStatus === 'running' || ClientStatus === 'pending'
  return isAlive ? restartAttempt(input) : rescheduleAttempt(input)
}

function restartAttempt({ allocation, task, group }: NextAttemptInput): NextAttempt {
  const state = allocation.TaskStates?.[task]
  const lastEvent = state?.Events.findLast(
    ({ Type }) => Type === 'Restarting' || Type === 'Started',
  )
  if (lastEvent?.Type !== 'Restarting')
    return newAttempt(
      'none',
      state?.State === 'running' ? 'The task runs again.' : startText(state),
    )
  const policy = group?.Tasks.find(({ Name }) => Name === task)?.RestartPolicy
  const limit =
    policy === undefined || policy === null
      ? ''
      : `; the restart policy allows ${policy.Attempts} in ${formatDurationNs(policy.Interval)}`
  const Text = `Restart ${state?.Restarts ?? 1} on the same node${limit}.`
  return { ...newAttempt('restart', Text), Time: lastEvent.Time + lastEvent.StartDelay }
}

/** A task whose templates wait starts by itself, as soon as their data exist. */
function startText(state: TaskState | undefined): string {
  const isWaiting = state?.Events.some(({ Type }) => Type === 'Template') === true
  return isWaiting ? 'The task starts once that exists.' : 'The task starts.'
}

function rescheduleAttempt(input: NextAttemptInput): NextAttempt {
  const { allocation, followUp, deployment, openEvaluations, group } = input
  const attemptCount = allocation.RescheduleTracker?.Events.length ?? 0
  const policy = group?.ReschedulePolicy ?? null
  const isDue = followUp?.Status === 'pending' && followUp.WaitUntil !== ZERO_TIME
  if (isDue) {
    const limit = policy === null || policy.Unlimited ? '' : ` of ${policy.Attempts}`
    const Text = `Reschedule attempt ${attemptCount + 1}${limit}: a new allocation, on another node if possible.`
    return { ...newAttempt('reschedule', Text), Time: nsFromMs(Date.parse(followUp.WaitUntil)) }
  }
  if (openEvaluations.some(({ Status }) => Status === 'blocked'))
    return newAttempt('waiting', 'No node has capacity for the replacement.')
  if (openEvaluations.length > 0)
    return newAttempt('waiting', 'The scheduler has not evaluated the failure yet.')
  if (deployment?.Status === 'failed')
    return newAttempt('none', 'The deployment failed; a new version of the job starts another one.')
  if (deployment !== undefined && isActiveDeployment(deployment))
    return newAttempt('waiting', 'The deployment decides when it is replaced.')
  if (policy === null || (!policy.Unlimited && policy.Attempts === 0))
    return newAttempt(
      'none',
      'The group is not rescheduled: its reschedule policy has no attempts.',
    )
  if (!policy.Unlimited && attemptCount >= policy.Attempts)
    return newAttempt('none', `All ${policy.Attempts} attempts of the reschedule policy are used.`)
  return newAttempt('none', 'No further attempt is planned.')
}

function newAttempt(Kind: NextAttempt['Kind'], Text: string): NextAttempt {
  return { Kind, Time: 0, AllocID: '', Text }
}
