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
export interface AttemptFacts {
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
  readonly open: readonly Pick<Evaluation, 'Status'>[]
}

/** Returns when and how a failed allocation is retried, or why it is not. */
export function nextAttempt(facts: AttemptFacts): NextAttempt {
  const { allocation, job } = facts
  const { NextAllocation, ClientStatus, DesiredStatus } = allocation
  if (NextAllocation !== '')
    return {
      ...attempt('replaced', 'It was replaced by a new allocation.'),
      AllocID: NextAllocation,
    }
  if (job === undefined) return attempt('none', 'The job is no longer registered.')
  if (job.Stop) return attempt('none', 'The job is stopped.')
  if (DesiredStatus !== 'run') return attempt('none', 'The allocation was stopped.')
  const isAlive = ClientStatus === 'running' || ClientStatus === 'pending'
  return isAlive ? restarting(facts) : rescheduling(facts)
}

function restarting({ allocation, task, group }: AttemptFacts): NextAttempt {
  const state = allocation.TaskStates?.[task]
  const last = state?.Events.findLast(({ Type }) => Type === 'Restarting' || Type === 'Started')
  if (last?.Type !== 'Restarting')
    return attempt('none', state?.State === 'running' ? 'The task runs again.' : startText(state))
  const policy = group?.Tasks.find(({ Name }) => Name === task)?.RestartPolicy
  const limit =
    policy === undefined || policy === null
      ? ''
      : `; the restart policy allows ${policy.Attempts} in ${formatDurationNs(policy.Interval)}`
  const Text = `Restart ${state?.Restarts ?? 1} on the same node${limit}.`
  return { ...attempt('restart', Text), Time: last.Time + last.StartDelay }
}

/** A task whose templates wait starts by itself, as soon as their data exist. */
function startText(state: TaskState | undefined): string {
  const isWaiting = state?.Events.some(({ Type }) => Type === 'Template') === true
  return isWaiting ? 'The task starts once that exists.' : 'The task starts.'
}

function rescheduling(facts: AttemptFacts): NextAttempt {
  const { allocation, followUp, deployment, open, group } = facts
  const made = allocation.RescheduleTracker?.Events.length ?? 0
  const policy = group?.ReschedulePolicy ?? null
  const isDue = followUp?.Status === 'pending' && followUp.WaitUntil !== ZERO_TIME
  if (isDue) {
    const limit = policy === null || policy.Unlimited ? '' : ` of ${policy.Attempts}`
    const Text = `Reschedule attempt ${made + 1}${limit}: a new allocation, on another node if possible.`
    return { ...attempt('reschedule', Text), Time: nsFromMs(Date.parse(followUp.WaitUntil)) }
  }
  if (open.some(({ Status }) => Status === 'blocked'))
    return attempt('waiting', 'No node has capacity for the replacement.')
  if (open.length > 0) return attempt('waiting', 'The scheduler has not evaluated the failure yet.')
  if (deployment?.Status === 'failed')
    return attempt('none', 'The deployment failed; a new version of the job starts another one.')
  if (deployment !== undefined && isActiveDeployment(deployment))
    return attempt('waiting', 'The deployment decides when it is replaced.')
  if (policy === null || (!policy.Unlimited && policy.Attempts === 0))
    return attempt('none', 'The group is not rescheduled: its reschedule policy has no attempts.')
  if (!policy.Unlimited && made >= policy.Attempts)
    return attempt('none', `All ${policy.Attempts} attempts of the reschedule policy are used.`)
  return attempt('none', 'No further attempt is planned.')
}

function attempt(Kind: NextAttempt['Kind'], Text: string): NextAttempt {
  return { Kind, Time: 0, AllocID: '', Text }
}
