import { refusal, type Refusal } from '../../model/index.ts'

/** The body names the job of the path, or the call is a mistake. */
export function namesJob(
  body: { readonly JobID?: string | null | undefined },
  jobId: string,
): Refusal | undefined {
  const named = body.JobID ?? ''
  if (named === '') return refusal('invalid-input', 'JobID must be specified')
  return named === jobId ? undefined : refusal('invalid-input', 'Job ID does not match')
}
