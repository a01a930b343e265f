import { refusal, type Refusal } from '../../model/index.ts'

/** Checks that the body contains the job ID of the path. */
export function checkBodyJobId(
  body: { readonly JobID?: string | null | undefined },
  jobId: string,
): Refusal | undefined {
  const bodyJobId = body.JobID ?? ''
  if (bodyJobId === '') return refusal('invalid-input', 'JobID must be specified')
  return bodyJobId === jobId ? undefined : refusal('invalid-input', 'Job ID does not match')
}
