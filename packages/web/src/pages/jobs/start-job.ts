import type { Job } from '@reeve/contract'
import { fetchLastSubmission } from '@reeve/sdk'
import type { Api } from '../../session/api.ts'

/** Registers a stopped job unchanged, with its original text. */
export async function startJob(api: Pick<Api, 'v1'>, job: Job) {
  return await api.v1.updateJob({
    params: { job_id: job.ID },
    query: { namespace: job.Namespace },
    body: { Job: { ...job, Stop: false }, Submission: await fetchLastSubmission(api, job) },
  })
}
