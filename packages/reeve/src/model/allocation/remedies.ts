import type { AllocationStub, Failure, JobFilePlace, NextAttempt, Remedy } from '@reeve/contract'
import { shellLine } from '@reeve/kit/shell-words.ts'

export interface RemedyInput {
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
