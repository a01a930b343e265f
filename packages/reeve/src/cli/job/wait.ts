import type { Invocation } from '../command.ts'
import { findJobOrTakeId } from './find-job.ts'
import { waitForEnd } from './job-end.ts'

/** `job wait`: blocks until a batch job has ended; its exit code becomes ours. */
export async function runJobWait(invocation: Invocation): Promise<number> {
  const { ID, Namespace } = await findJobOrTakeId(invocation, invocation.args[0] ?? '')
  return await waitForEnd(invocation, { jobId: ID, namespace: Namespace })
}
