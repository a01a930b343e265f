import type { ItemOf } from '@reeve/sdk'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { table } from '../output/table.ts'
import { agoFromNs } from '../output/time.ts'

/** `job status`: the list. */
export async function runJobStatus(invocation: Invocation): Promise<number> {
  const { client, host, output, settings } = invocation
  const jobs: ItemOf<'listJobs'>[] = []
  for await (const job of client.pages('listJobs', {})) jobs.push(job)
  const isEverywhere = settings.namespace === '*'
  output.show(jobs, () => {
    if (jobs.length === 0) return 'There are no jobs. "reeve job init" writes a first one.'
    const rows = jobs.map((job) => [
      job.ID,
      ...(isEverywhere ? [job.Namespace] : []),
      job.Type,
      String(job.Priority),
      job.Stop ? `${job.Status} (stopped)` : job.Status,
      agoFromNs(job.SubmitTime, host.nowMs()),
    ])
    const place = isEverywhere ? ['Namespace'] : []
    return table(['ID', ...place, 'Type', 'Priority', 'Status', 'Submitted'], rows)
  })
  return EXIT_CODES.ok
}
