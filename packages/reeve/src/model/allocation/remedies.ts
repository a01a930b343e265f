import type { AllocationStub, Failure, JobFilePlace, NextAttempt, Remedy } from '@reeve/contract'
import { shellLine } from '@reeve/kit/shell-words.ts'

export interface RemedyFacts {
  readonly failure: Failure
  readonly allocation: Pick<AllocationStub, 'ID' | 'JobID' | 'Namespace' | 'NodeID' | 'JobVersion'>
  readonly next: NextAttempt
  /** The newest stable version before this one. */
  readonly stable: number | undefined
  /** Position of the failing part in the job file; undefined if no source was submitted. */
  readonly place: JobFilePlace | undefined
}

/** Returns the next steps after a failure, the most useful first. */
export function remediesFor(facts: RemedyFacts): readonly Remedy[] {
  const { failure, allocation, next, stable } = facts
  const { ID, JobID, Namespace, NodeID } = allocation
  const place = Namespace === 'default' ? [] : ['--namespace', Namespace]
  const line = (...words: readonly string[]): string => shellLine(['reeve', ...words, ...place])
  const id = ID.slice(0, 8)
  const edit = EDITS[failure.Kind]
  const hasOutput = failure.Kind === 'exit' || failure.Kind === 'oom' || failure.Kind === 'check'
  return [
    ...(failure.Kind === 'check'
      ? [remedy('read-checks', 'Show the health checks', line('alloc', 'checks', id))]
      : []),
    ...(hasOutput
      ? [
          remedy(
            'read-logs',
            'Read the log',
            line('alloc', 'logs', '--stderr', '--task', failure.Task, id),
          ),
        ]
      : []),
    ...missingVariables(failure).map((path) =>
      remedy(
        'write-variable',
        `Write the variable "${path}"`,
        line('var', 'put', path, 'KEY=VALUE'),
      ),
    ),
    ...(failure.Kind === 'lost'
      ? [remedy('show-node', 'Show the node', line('node', 'status', NodeID.slice(0, 8)))]
      : []),
    ...(next.Kind === 'waiting'
      ? [remedy('explain-job', 'Show why it waits', line('job', 'explain', JobID))]
      : []),
    ...(edit === undefined ? [] : [editRemedy(edit(failure.Task), facts, line)]),
    ...(stable === undefined
      ? []
      : [
          remedy(
            'revert-job',
            `Revert to version ${stable}, the last stable one`,
            line('job', 'revert', JobID, String(stable)),
          ),
        ]),
    ...(hasOutput
      ? []
      : [remedy('show-allocation', 'Show the events', line('alloc', 'status', id))]),
  ]
}

/** Returns the paths of the variables that a template waits for. */
function missingVariables({ Kind, Text }: Failure): readonly string[] {
  if (Kind !== 'template') return []
  return [...Text.matchAll(/variable\(([^)]+)\)/g)].map(([, path = '']) => path)
}

/** Suggested changes of the job, by kind of failure. */
const EDITS: Readonly<Partial<Record<Failure['Kind'], (task: string) => string>>> = {
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
  return FIELDS[Kind] ?? ''
}

const FIELDS: Readonly<Partial<Record<Failure['Kind'], string>>> = {
  exit: '.Config',
  driver: '.Config',
  oom: '.Resources.MemoryMB',
  artifact: '.Artifacts',
  template: '.Templates',
}

function editRemedy(
  text: string,
  { allocation: { JobID, JobVersion }, place }: RemedyFacts,
  line: (...words: readonly string[]) => string,
): Remedy {
  if (place === undefined)
    return remedy('edit-job', `${text} and run the job again`, line('job', 'inspect', JobID))
  const command = line('job', 'inspect', '--hcl', '--version', String(JobVersion), JobID)
  const Text = `${text} (line ${place.Line} of the job file) and run the job again`
  return { ...remedy('edit-job', Text, command), Place: place }
}

function remedy(Kind: Remedy['Kind'], Text: string, Command: string): Remedy {
  return { Kind, Text, Command }
}
