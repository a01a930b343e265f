import * as t from './shared-schemas.ts'
import { CheckResult } from './client-stats.ts'
import { LOG_TYPES } from './client-fs.ts'
import { JobFilePlace } from './explain.ts'

export const FAILURE_KINDS = [
  'exit',
  'oom',
  'driver',
  'setup',
  'artifact',
  'template',
  'check',
  'lost',
  'unplaced',
  'denied',
] as const
export type FailureKind = (typeof FAILURE_KINDS)[number]

/** A failure. Failures with the same kind, task and text are reported as one. */
export const Failure = t.Named('Failure', 'Why a job or its allocations fail.', {
  Kind: t.Enum(FAILURE_KINDS, {
    description:
      '`unplaced`: no node has capacity for allocations of a group. `denied`: policies denied ' +
      'the last submission of the job. All others concern an allocation.',
  }),
  Text: t.String({ description: 'One sentence, at most 300 characters; no content of logs.' }),
  AllocID: t.String({
    description: 'The newest allocation that failed this way; empty for `unplaced` and `denied`.',
  }),
  Task: t.String({ description: 'Empty when the allocation as a whole failed.' }),
  Time: t.Nanoseconds(),
  ExitCode: t.Nullable(t.Integer({ description: 'Null unless a task exited by itself.' })),
  Count: t.Integer({ description: 'Allocations that failed this way.' }),
})
export type Failure = t.Infer<typeof Failure>

/** Next action after a failure. */
export const NEXT_ATTEMPTS = ['restart', 'reschedule', 'replaced', 'waiting', 'none'] as const
export type NextAttemptKind = (typeof NEXT_ATTEMPTS)[number]

export const NextAttempt = t.Named('NextAttempt', {
  Kind: t.Enum(NEXT_ATTEMPTS, {
    description:
      '`restart`: in place. `reschedule`: as a new allocation. `replaced`: by `AllocID`. ' +
      '`waiting`: for capacity, a deployment or an evaluation. `none`: nothing is tried again.',
  }),
  Time: t.Nanoseconds('When it is due; 0 when that is not known.'),
  AllocID: t.String({ description: 'The allocation that replaced it; else empty.' }),
  Text: t.String({ description: 'The same as a sentence, with the limits that apply.' }),
})
export type NextAttempt = t.Infer<typeof NextAttempt>

/** Actions that fix a failure; a page offers the same action as a button. */
export const REMEDIES = [
  'read-logs',
  'read-checks',
  'write-variable',
  'edit-job',
  'revert-job',
  'explain-job',
  'show-denial',
  'show-node',
  'show-allocation',
] as const
export type RemedyKind = (typeof REMEDIES)[number]

export const Remedy = t.Named('Remedy', 'A next step after a failure.', {
  Kind: t.Enum(REMEDIES),
  Text: t.String(),
  Command: t.String({ description: 'The command line that does it.' }),
  Place: t.Optional(JobFilePlace),
})
export type Remedy = t.Infer<typeof Remedy>

/** Lines of output in the response, and the maximum length of each in characters. */
export const FAILURE_LINES_MAX = 20
export const FAILURE_LINE_CHARS_MAX = 500
/** Maximum length in characters of the response that the failing check received. */
export const FAILURE_CHECK_CHARS_MAX = 1024

export const AllocationFailure = t.Object(
  {
    Failure: t.Nullable(Failure),
    Lines: t.Optional(
      t.Array(t.String(), {
        description: `The last lines of the task before it failed, at most ${FAILURE_LINES_MAX}.`,
      }),
    ),
    LinesFrom: t.Optional(
      t.Enum(LOG_TYPES, { description: '`stdout` when the task wrote nothing to `stderr`.' }),
    ),
    LinesOmitted: t.Optional(
      t.String({ description: 'Why `Lines` is absent, such as the missing capability.' }),
    ),
    Check: t.Optional(CheckResult),
    NextAttempt: t.Nullable(NextAttempt),
    Remedies: t.Array(Remedy),
  },
  {
    $id: 'AllocationFailure',
    description: 'Why an allocation fails, what it wrote last, what follows and what to do.',
  },
)
export type AllocationFailure = t.Infer<typeof AllocationFailure>
