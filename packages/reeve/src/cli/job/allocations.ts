import { allocationTable } from '../alloc/allocation-table.ts'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { findJob } from './find-job.ts'

/** `job allocs`: every allocation of a job, the newest first. */
export async function runJobAllocs(invocation: Invocation): Promise<number> {
  const { client, args, flags, output } = invocation
  const { ID, Namespace } = await findJob(invocation, args[0] ?? '')
  const { data } = await client.v1.listJobAllocations({
    params: { job_id: ID },
    query: { namespace: Namespace, all: flags.has('all') },
  })
  const group = flags.text('group')
  const wanted = group === undefined ? data : data.filter(({ TaskGroup }) => TaskGroup === group)
  const newest = wanted.toSorted((a, b) => b.CreateIndex - a.CreateIndex || (a.ID < b.ID ? -1 : 1))
  output.show(newest, () =>
    newest.length === 0
      ? `Job "${ID}" has no allocations. To see why: reeve job explain ${ID}`
      : allocationTable(newest, invocation),
  )
  return EXIT_CODES.ok
}
