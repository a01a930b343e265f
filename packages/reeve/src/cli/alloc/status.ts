import { failureOf } from '@reeve/contract'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { findAllocation, allocationRequest, type AllocationStub } from './find-allocation.ts'
import { formatAllocationTable } from './allocation-table.ts'
import { formatAllocation } from './allocation-text.ts'
import { readFailureReport } from './failure-text.ts'

export async function runAllocStatus(invocation: CommandContext): Promise<number> {
  const [given] = invocation.args
  if (given === undefined) await listAllocations(invocation)
  else await showAllocation(invocation, given)
  return EXIT_CODES.ok
}

async function listAllocations(invocation: CommandContext): Promise<void> {
  const { client, flags, output, signal } = invocation
  const query = { filter: filterOf(flags.string('job'), flags.has('all')), reverse: true }
  const found: AllocationStub[] = []
  for await (const one of client.pages('listAllocations', { query, signal })) found.push(one)
  output.print(found, () =>
    found.length === 0
      ? 'There are no allocations. "reeve job run" places some; --all shows ended ones too.'
      : formatAllocationTable(found, invocation),
  )
}

/** Builds the filter. Terminal allocations are omitted by default, because there are many. */
function filterOf(job: string | undefined, isAll: boolean): string | undefined {
  const parts = [
    ...(job === undefined ? [] : [`JobID == ${JSON.stringify(job)}`]),
    ...(isAll ? [] : ['ClientStatus != "complete"', 'ClientStatus != "lost"']),
  ]
  return parts.length === 0 ? undefined : parts.join(' and ')
}

async function showAllocation(invocation: CommandContext, given: string): Promise<void> {
  const { client, output } = invocation
  const found = await findAllocation(invocation, given)
  const { data } = await client.v1.readAllocation(allocationRequest(found))
  const isFailing = failureOf(data, invocation.host.nowMs()) !== undefined
  const failure = isFailing ? await readFailureReport(invocation, data) : undefined
  output.print(failure === undefined ? data : { ...data, FailureReport: failure }, () =>
    formatAllocation(data, failure, invocation),
  )
}
