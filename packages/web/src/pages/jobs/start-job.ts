import type { Job } from '@reeve/contract'
import type { Api } from '../../session/api.ts'

/**
 * Registers a stopped job again as it was, with the text it was made from: that of the version that
 * ran last, since that of the stop has none.
 */
export async function startJob(api: Pick<Api, 'v1'>, job: Job) {
  const params = { job_id: job.ID }
  const query = { namespace: job.Namespace }
  const { data } = await api.v1.listJobVersions({ params, query })
  const last = data.Versions.find(({ Stop }) => !Stop)
  const source =
    last === undefined
      ? undefined
      : await api.v1
          .readJobSubmission({ params, query: { ...query, version: last.Version } })
          .catch(() => undefined)
  const body = { Job: { ...job, Stop: false }, Submission: source?.data }
  return await api.v1.updateJob({ params, query, body })
}
