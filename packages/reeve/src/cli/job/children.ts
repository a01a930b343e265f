import type { JobHealth } from '@reeve/contract'
import type { ItemOf } from '@reeve/sdk'
import type { CommandContext } from '../command.ts'
import { renderTable } from '../output/table.ts'
import { agoFromNs } from '../output/time.ts'
import { statusStyle } from '../output/tone.ts'

export type JobStub = ItemOf<'listJobs'>

/** The newest children that a status page lists. */
const CHILDREN_SHOWN_MAX = 10

/** Children read per parent: older ones are garbage-collected by the server. */
const CHILDREN_READ_MAX = 1_000

/** Whether a job only launches child jobs: it is periodic or parameterized and no child itself. */
export function isParent(
  job: Pick<JobStub, 'ParentID'> & {
    readonly Periodic: unknown
    readonly ParameterizedJob: unknown
  },
): boolean {
  const launches = [job.Periodic, job.ParameterizedJob]
  return job.ParentID === '' && launches.some((value) => value !== null && value !== false)
}

/** The child jobs of a periodic or parameterized job, the newest first. */
export async function listChildren(
  { client, signal }: CommandContext,
  { ID, Namespace }: Pick<JobStub, 'ID' | 'Namespace'>,
): Promise<readonly JobStub[]> {
  const children: JobStub[] = []
  const query = { prefix: `${ID}/`, namespace: Namespace }
  for await (const job of client.pages('listJobs', { query, signal })) {
    if (job.ParentID === ID) children.push(job)
    if (children.length === CHILDREN_READ_MAX) break
  }
  return children.toSorted((a, b) => b.SubmitTime - a.SubmitTime || (a.ID < b.ID ? 1 : -1))
}

/** The newest children with their health. */
export function formatChildren(
  children: readonly JobStub[],
  healthOf: (child: JobStub) => JobHealth | undefined,
  { host, output }: CommandContext,
): string {
  if (children.length === 0) return ''
  const rows = children.slice(0, CHILDREN_SHOWN_MAX).map((child) => {
    const state = healthOf(child) ?? child.Status
    return [
      child.ID,
      output.paint(statusStyle(state), state),
      agoFromNs(child.SubmitTime, host.nowMs()),
    ]
  })
  const older = children.length - rows.length
  const more = older > 0 ? `… and ${older} older\n` : ''
  return `${output.paint('strong', 'Child jobs')}\n${renderTable(['ID', 'Status', 'Started'], rows)}${more}`
}
