import type { CommandContext } from '../command.ts'
import { findJobOrUseId } from './find-job.ts'
import { waitForCompletion } from './job-end.ts'

/** `job wait`: waits until a batch job has ended and exits with its exit code. */
export async function runJobWait(invocation: CommandContext): Promise<number> {
  const { ID, Namespace } = await findJobOrUseId(invocation, invocation.args[0] ?? '')
  return await waitForCompletion(invocation, { jobId: ID, namespace: Namespace })
}
