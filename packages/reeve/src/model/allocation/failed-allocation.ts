import type {
  AllocationStub,
  Deployment,
  Evaluation,
  Failure,
  Job,
  JobFilePlace,
  NextAttempt,
  Remedy,
  TaskGroup,
  TaskState,
} from '@reeve/contract'
import { formatDurationNs, nsFromMs, ZERO_TIME } from '@reeve/kit/duration.ts'
import { shellLine } from '@reeve/kit/shell-words.ts'
import { isActiveDeployment } from '../deployment/deployment.ts'
import { isClientTerminal, isServerTerminal, type AllocationRow } from './allocation-row.ts'

/** Groups of allocations that may explain why their job fails. */
export const FAILING_GROUPS = ['ended', 'live'] as const
export type FailingGroup = (typeof FAILING_GROUPS)[number]

type FailingRow = Pick<
  AllocationRow,
  'ClientStatus' | 'DesiredStatus' | 'NextAllocation' | 'DeploymentStatus' | 'TaskStates'
>

/**
 * Returns the group of an allocation that may explain why its job fails. The answer serves an index
 * and does not depend on the time: `failureOf` decides whether the allocation fails now.
 */
export function failingGroup(row: FailingRow): FailingGroup | undefined {
  if (row.ClientStatus === 'failed' || row.ClientStatus === 'lost')
    return (row.NextAllocation ?? '') === '' ? 'ended' : undefined
  if (isClientTerminal(row) || isServerTerminal(row)) return undefined
  if (row.DeploymentStatus?.Healthy === false) return 'live'
  if (row.TaskStates === undefined || row.TaskStates === null) return undefined
  for (const name in row.TaskStates) if (mayFail(row.TaskStates[name])) return 'live'
  return undefined
}

/** Reports whether a task was restarted, or waits for the data of its templates. */
function mayFail(state: NonNullable<AllocationRow['TaskStates']>[string] | undefined): boolean {
  if ((state?.Restarts ?? 0) > 0) return true
  return state?.State === 'pending' && state.Events?.at(-1)?.Type === 'Template'
}

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

interface RemedyInput {
  readonly failure: Failure
  readonly allocation: Pick<AllocationStub, 'ID' | 'JobID' | 'Namespace' | 'NodeID' | 'JobVersion'>
  readonly next: NextAttempt
  /** The newest stable version before this one. */
  readonly stableVersion: number | undefined
  /** Position of the failing part in the job file; undefined if no source was submitted. */
  readonly place: JobFilePlace | undefined
}

/** Returns the next steps after a failure, the most useful first. */
export function remediesFor(input: RemedyInput): readonly Remedy[] {
  const { failure, allocation, next, stableVersion } = input
  const { ID, JobID, Namespace, NodeID } = allocation
  const namespaceFlags = Namespace === 'default' ? [] : ['--namespace', Namespace]
  const commandLine = (...words: readonly string[]): string =>
    shellLine(['reeve', ...words, ...namespaceFlags])
  const shortId = ID.slice(0, 8)
  const editText = EDIT_TEXTS[failure.Kind]
  const hasOutput = failure.Kind === 'exit' || failure.Kind === 'oom' || failure.Kind === 'check'
  return [
    ...(failure.Kind === 'check'
      ? [
          newRemedy(
            'read-checks',
            'Show the health checks',
            commandLine('alloc', 'checks', shortId),
          ),
        ]
      : []),
    ...(hasOutput
      ? [
          newRemedy(
            'read-logs',
            'Read the log',
            commandLine('alloc', 'logs', '--stderr', '--task', failure.Task, shortId),
          ),
        ]
      : []),
    ...missingVariables(failure).map((path) =>
      newRemedy(
        'write-variable',
        `Write the variable "${path}"`,
        commandLine('var', 'put', path, 'KEY=VALUE'),
      ),
    ),
    ...(failure.Kind === 'lost'
      ? [newRemedy('show-node', 'Show the node', commandLine('node', 'status', NodeID.slice(0, 8)))]
      : []),
    ...(next.Kind === 'waiting'
      ? [newRemedy('explain-job', 'Show why it waits', commandLine('job', 'explain', JobID))]
      : []),
    ...(editText === undefined ? [] : [editRemedy(editText(failure.Task), input, commandLine)]),
    ...(stableVersion === undefined
      ? []
      : [
          newRemedy(
            'revert-job',
            `Revert to version ${stableVersion}, the last stable one`,
            commandLine('job', 'revert', JobID, String(stableVersion)),
          ),
        ]),
    ...(hasOutput
      ? []
      : [newRemedy('show-allocation', 'Show the events', commandLine('alloc', 'status', shortId))]),
  ]
}

/** Returns the paths of the variables that a template waits for. */
function missingVariables({ Kind, Text }: Failure): readonly string[] {
  if (Kind !== 'template') return []
  return [...Text.matchAll(/variable\(([^)]+)\)/g)].map(([, path = '']) => path)
}

/** Suggested changes of the job, by kind of failure. */
const EDIT_TEXTS: Readonly<Partial<Record<Failure['Kind'], (task: string) => string>>> = {
  exit: (task) => `Correct the configuration of task "${task}"`,
  oom: (task) => `Raise "memory" of task "${task}"`,
  driver: (task) => `Correct the configuration of task "${task}"`,
  setup: (task) => `Correct task "${task}"`,
  artifact: (task) => `Correct an "artifact" of task "${task}"`,
  template: (task) => `Correct a "template" of task "${task}"`,
  check: () => 'Correct the check or the service',
}

/** Returns the field of the job that an edit concerns, relative to its task or group. */
export function failingField({ Kind }: Pick<Failure, 'Kind'>): string {
  return FAILING_FIELDS[Kind] ?? ''
}

const FAILING_FIELDS: Readonly<Partial<Record<Failure['Kind'], string>>> = {
  exit: '.Config',
  driver: '.Config',
  oom: '.Resources.MemoryMB',
  artifact: '.Artifacts',
  template: '.Templates',
}

function editRemedy(
  text: string,
  { allocation: { JobID, JobVersion }, place }: RemedyInput,
  commandLine: (...words: readonly string[]) => string,
): Remedy {
  if (place === undefined)
    return newRemedy(
      'edit-job',
      `${text} and run the job again`,
      commandLine('job', 'inspect', JobID),
    )
  const command = commandLine('job', 'inspect', '--hcl', '--version', String(JobVersion), JobID)
  const Text = `${text} (line ${place.Line} of the job file) and run the job again`
  return { ...newRemedy('edit-job', Text, command), Place: place }
}

function newRemedy(Kind: Remedy['Kind'], Text: string, Command: string): Remedy {
  return { Kind, Text, Command }
}
