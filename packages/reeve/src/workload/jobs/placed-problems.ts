import type { Input, JobSubmission } from '@reeve/contract'
import type { JobProblem } from '../../model/index.ts'
import type { TaskOrigin } from '../../threads/index.ts'
import type { WorkloadContext } from '../context.ts'

/**
 * Where in the source that came with a job its problems are, a line for each. None when no source
 * came, or none that can be read: what is wrong has been said without it.
 */
export async function placesInSource(
  { jobFiles, clock }: Pick<WorkloadContext, 'jobFiles' | 'clock'>,
  submission: Input<JobSubmission> | null | undefined,
  problems: readonly JobProblem[],
  origin: TaskOrigin,
): Promise<readonly string[]> {
  const { Source: text = '', Format: format = '', Variables: variables = '' } = submission ?? {}
  if (text === '' || format === 'json' || problems.length === 0) return []
  const flags = Object.entries(submission?.VariableFlags ?? {})
  const task = {
    text: text ?? '',
    variables: variables ?? '',
    flags: Object.fromEntries(flags.map(([name, value]) => [name, value ?? ''])),
    isLegacy: format === 'hcl1',
    defaults: undefined,
    nowMs: clock.nowMs(),
    problems,
  }
  const outcome = await jobFiles.read(task, origin)
  return outcome.ok && outcome.value.kind === 'job' ? outcome.value.placed : []
}
