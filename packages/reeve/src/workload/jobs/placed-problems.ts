import type { Input, JobFilePlace, JobSubmission } from '@reeve/contract'
import type { JobProblem } from '../../model/index.ts'
import type { TaskOrigin } from '../../threads/index.ts'
import type { WorkloadContext } from '../context.ts'
import type { JobFileTask } from '../job-files/job-file-task.ts'

type JobFileContext = Pick<WorkloadContext, 'jobFiles' | 'clock'>
type Submission = Input<JobSubmission> | null | undefined

/**
 * Returns the positions of the problems in the submitted job file, one line per problem. Empty if
 * the file is missing or unreadable: the problems were already reported.
 */
export async function locateProblems(
  context: JobFileContext,
  submission: Submission,
  problems: readonly JobProblem[],
  origin: TaskOrigin,
): Promise<readonly string[]> {
  if (problems.length === 0) return []
  return (await parseSource(context, submission, { problems }, origin))?.placed ?? []
}

/**
 * Returns the positions of job fields in the job file, in order; empty if the file is unreadable.
 */
export async function locateFields(
  context: JobFileContext,
  submission: Submission,
  paths: readonly string[],
  origin: TaskOrigin,
): Promise<readonly JobFilePlace[]> {
  if (paths.length === 0) return []
  return (await parseSource(context, submission, { paths }, origin))?.places ?? []
}

async function parseSource(
  { jobFiles, clock }: JobFileContext,
  submission: Submission,
  locate: Pick<JobFileTask, 'problems' | 'paths'>,
  origin: TaskOrigin,
) {
  const { Source: text = '', Format: format = '', Variables: variables = '' } = submission ?? {}
  if (text === null || text === '' || format === 'json') return undefined
  const flags = Object.entries(submission?.VariableFlags ?? {})
  const task = {
    text,
    variables: variables ?? '',
    flags: Object.fromEntries(flags.map(([name, value]) => [name, value ?? ''])),
    isLegacy: format === 'hcl1',
    defaults: undefined,
    nowMs: clock.nowMs(),
    ...locate,
  }
  const outcome = await jobFiles.read(task, origin)
  return outcome.ok && outcome.value.kind === 'job' ? outcome.value : undefined
}
