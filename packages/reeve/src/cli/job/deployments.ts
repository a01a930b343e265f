import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { shortenId, renderTable } from '../output/table.ts'
import { agoFromNs } from '../output/time.ts'
import { statusStyle } from '../output/tone.ts'
import { formatDeploymentProgress } from '../watch/rollout-text.ts'
import { findJob } from './find-job.ts'

/** `job deployments`: lists the deployments of a job; `--latest` shows the newest one in detail. */
export async function runJobDeployments(invocation: CommandContext): Promise<number> {
  const { client, args, flags, output, host } = invocation
  const { ID, Namespace } = await findJob(invocation, args[0] ?? '')
  const { data } = await client.v1.listJobDeployments({
    params: { job_id: ID },
    query: { namespace: Namespace, all: flags.has('all') },
  })
  const newest = data.toSorted((a, b) => b.CreateIndex - a.CreateIndex)
  const [latest = null] = newest
  if (flags.has('latest') && latest !== null) {
    const state = { jobId: ID, evaluation: undefined, deployment: latest, allocations: [] }
    output.print(latest, () => formatDeploymentProgress(state, output.paint, host.nowMs()))
    return EXIT_CODES.ok
  }
  output.print(flags.has('latest') ? latest : newest, () => {
    if (newest.length === 0) return `Job "${ID}" has no deployments.`
    const rows = newest.map((one) => [
      flags.has('verbose') ? one.ID : shortenId(one.ID),
      String(one.JobVersion),
      output.paint(statusStyle(one.Status), one.Status),
      agoFromNs(one.CreateTime, host.nowMs()),
      one.StatusDescription,
    ])
    return renderTable(['ID', 'Version', 'Status', 'Created', 'Description'], rows)
  })
  return EXIT_CODES.ok
}
