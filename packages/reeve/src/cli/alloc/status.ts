import { failureOf } from '@reeve/contract'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { findAllocation, callFor, type AllocationStub } from './find-allocation.ts'
import { allocationTable } from './allocation-table.ts'
import { allocationText } from './allocation-text.ts'
import { readFailure } from './failure-text.ts'

export async function runAllocStatus(invocation: Invocation): Promise<number> {
  const [given] = invocation.args
  if (given === undefined) await listAllocations(invocation)
  else await showAllocation(invocation, given)
  return EXIT_CODES.ok
}

async function listAllocations(invocation: Invocation): Promise<void> {
  const { client, flags, output, signal } = invocation
  const query = { filter: filterOf(flags.text('job'), flags.has('all')), reverse: true }
  const found: AllocationStub[] = []
  for await (const one of client.pages('listAllocations', { query, signal })) found.push(one)
  output.show(found, () =>
    found.length === 0
      ? 'There are no allocations. "reeve job run" places some; --all shows ended ones too.'
      : allocationTable(found, invocation),
  )
}

/** Ended allocations are many and seldom looked for. */
function filterOf(job: string | undefined, isAll: boolean): string | undefined {
  const parts = [
    ...(job === undefined ? [] : [`JobID == ${JSON.stringify(job)}`]),
    ...(isAll ? [] : ['ClientStatus != "complete"', 'ClientStatus != "lost"']),
  ]
  return parts.length === 0 ? undefined : parts.join(' and ')
}

async function showAllocation(invocation: Invocation, given: string): Promise<void> {
  const { client, output } = invocation
  const found = await findAllocation(invocation, given)
  const { data } = await client.v1.readAllocation(callFor(found))
  const isFailing = failureOf(data, invocation.host.nowMs()) !== undefined
  const failure = isFailing ? await readFailure(invocation, data) : undefined
  output.show(failure === undefined ? data : { ...data, FailureReport: failure }, () =>
    allocationText(data, failure, invocation),
  )
}
