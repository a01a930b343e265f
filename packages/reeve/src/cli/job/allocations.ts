import { formatAllocationTable } from '../alloc/allocation-table.ts'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { listChildren, isParent } from './children.ts'
import { findJob } from './find-job.ts'

/** Child jobs whose allocations are listed; the newest ones. */
const CHILDREN_MAX = 20

/** `job allocs`: lists the allocations of a job or of its child jobs, newest first. */
export async function runJobAllocs(invocation: CommandContext): Promise<number> {
  const { client, args, flags, output } = invocation
  const job = await findJob(invocation, args[0] ?? '')
  const { ID } = job
  const jobs = isParent(job) ? (await listChildren(invocation, job)).slice(0, CHILDREN_MAX) : [job]
  const lists = await Promise.all(
    jobs.map(({ ID: job_id, Namespace: namespace }) =>
      client.v1.listJobAllocations({
        params: { job_id },
        query: { namespace, all: flags.has('all') },
      }),
    ),
  )
  const data = lists.flatMap((list) => list.data)
  const group = flags.string('group')
  const wanted = group === undefined ? data : data.filter(({ TaskGroup }) => TaskGroup === group)
  const newest = wanted.toSorted((a, b) => b.CreateIndex - a.CreateIndex || (a.ID < b.ID ? -1 : 1))
  output.print(newest, () =>
    newest.length === 0
      ? `Job "${ID}" has no allocations. To see why: reeve job explain ${ID}`
      : formatAllocationTable(newest, invocation),
  )
  return EXIT_CODES.ok
}
