import type { AllocationFailure, CheckResult, NextAttempt } from '@reeve/contract'
import { ApiError } from '@reeve/sdk'
import { msFromNs } from '@reeve/kit/duration.ts'
import type { CommandContext } from '../command.ts'
import { formatAge } from '../output/time.ts'
import { agoFromNs } from '../output/time.ts'
import { shortenId } from '../output/table.ts'

/** Reads the failure report of an allocation; undefined if the server rejects the request. */
export async function readFailureReport(
  { client }: CommandContext,
  allocation: { readonly ID: string; readonly Namespace: string },
): Promise<AllocationFailure | undefined> {
  try {
    const params = { alloc_id: allocation.ID }
    const query = { namespace: allocation.Namespace }
    return (await client.v1.readAllocationFailure({ params, query })).data
  } catch (thrown) {
    // The other details are printed without it: servers of earlier versions do not have the route.
    if (thrown instanceof ApiError) return undefined
    throw thrown
  }
}

/** Formats a failure: cause, log lines, next attempt and remedies. */
export function formatFailure(
  { Failure, Lines, LinesFrom, LinesOmitted, Check, NextAttempt, Remedies }: AllocationFailure,
  { host, output: { paint } }: CommandContext,
  count = 1,
): string {
  if (Failure === null) return ''
  const { Task, Text, Time } = Failure
  const where = Task === '' ? '' : `Task "${Task}": `
  const often = count > 1 ? ` (${count} allocations)` : ''
  const ago = agoFromNs(Time, host.nowMs())
  const from = LinesFrom === undefined ? '' : `  Last lines of ${LinesFrom}:\n`
  return [
    `${paint('bad', `${where}${Text}${often}`)}, ${ago}\n`,
    Check === undefined ? '' : formatCheck(Check),
    Lines === undefined ? '' : `${from}${Lines.map((line) => `    ${line}\n`).join('')}`,
    LinesOmitted === undefined ? '' : `  No log lines: ${LinesOmitted}\n`,
    NextAttempt === null ? '' : `  Next: ${formatNextAttempt(NextAttempt, host.nowMs())}\n`,
    ...Remedies.map(({ Text: remedy, Command }) => `  ${remedy}:\n    ${Command}\n`),
  ].join('')
}

function formatCheck({ Check, Service, StatusCode, Output }: CheckResult): string {
  const status = StatusCode === undefined ? '' : ` answered ${StatusCode}`
  const body = Output.trimEnd()
    .split('\n')
    .map((line) => `    ${line}\n`)
  return `  Check "${Check}" of service "${Service}"${status}:\n${body.join('')}`
}

/** `in 14 s: Restart 3 on the same node; …` */
function formatNextAttempt({ Text, Time, AllocID }: NextAttempt, nowMs: number): string {
  const dueMs = msFromNs(Time)
  const due = dueMs > nowMs ? `in ${formatAge(dueMs - nowMs)}: ` : ''
  return `${due}${Text}${AllocID === '' ? '' : ` (${shortenId(AllocID)})`}`
}
