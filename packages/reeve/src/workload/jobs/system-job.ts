import type { Input, Job } from '@reeve/contract'
import { Fault } from '@reeve/kit/fault.ts'
import { namespacedKey, SYSTEM } from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'
import { NO_VERDICT_CHANGES } from '../guarding/verdict-record.ts'
import { canonicalizeAndValidate, commitJob } from './register.ts'

/**
 * Registers a job that the server itself needs, without checking permissions or policies. An
 * existing job with this ID is kept.
 */
export async function registerSystemJob(
  context: WorkloadContext,
  submitted: Input<Job> & { readonly ID: string; readonly Namespace: string },
): Promise<void> {
  const { ID, Namespace } = submitted
  if (context.store.tables.jobs.has(namespacedKey(Namespace, ID))) return
  const job = canonicalizeAndValidate(context, submitted, Namespace)
  if (!job.ok) throw new Fault('job-refused', job.error.message)
  await commitJob(context, SYSTEM, {
    job: job.value,
    current: undefined,
    priority: 0,
    source: undefined,
    record: NO_VERDICT_CHANGES,
  })
}
