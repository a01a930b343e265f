import type { Input, JobFilePlace, JobSubmission } from '@reeve/contract'
import type { JobProblem } from '../../model/index.ts'
import type { TaskOrigin } from '../../threads/index.ts'
import type { WorkloadContext } from '../context.ts'
import type { JobFileTask } from '../job-files/job-file-task.ts'

type Reading = Pick<WorkloadContext, 'jobFiles' | 'clock'>
type Submission = Input<JobSubmission> | null | undefined

/**
 * Where in the source that came with a job its problems are, a line for each. None when no source
 * came, or none that can be read: the problems were reported without it.
 */
export async function placesInSource(
  context: Reading,
  submission: Submission,
  problems: readonly JobProblem[],
  origin: TaskOrigin,
): Promise<readonly string[]> {
  if (problems.length === 0) return []
  return (await readAgain(context, submission, { problems }, origin))?.placed ?? []
}

/** Where in the source the fields of the job are, in their order; none when it cannot be read. */
export async function findPlaces(
  context: Reading,
  submission: Submission,
  paths: readonly string[],
  origin: TaskOrigin,
): Promise<readonly JobFilePlace[]> {
  if (paths.length === 0) return []
  return (await readAgain(context, submission, { paths }, origin))?.places ?? []
}

async function readAgain(
  { jobFiles, clock }: Reading,
  submission: Submission,
  wanted: Pick<JobFileTask, 'problems' | 'paths'>,
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
    ...wanted,
  }
  const outcome = await jobFiles.read(task, origin)
  return outcome.ok && outcome.value.kind === 'job' ? outcome.value : undefined
}
