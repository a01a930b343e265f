import type { AllocationFailure, CheckResult, NextAttempt } from '@reeve/contract'
import { ApiError } from '@reeve/sdk'
import { msFromNs } from '@reeve/kit/duration.ts'
import type { Invocation } from '../command.ts'
import { formatAge } from '../output/time.ts'
import { agoFromNs } from '../output/time.ts'
import { shortId } from '../output/table.ts'

/** Why an allocation fails, as the server explains it; undefined when it cannot be asked. */
export async function readFailure(
  { client }: Invocation,
  allocation: { readonly ID: string; readonly Namespace: string },
): Promise<AllocationFailure | undefined> {
  try {
    const params = { alloc_id: allocation.ID }
    const query = { namespace: allocation.Namespace }
    return (await client.v1.readAllocationFailure({ params, query })).data
  } catch (thrown) {
    // The rest is shown nevertheless: servers of earlier versions do not have the route.
    if (thrown instanceof ApiError) return undefined
    throw thrown
  }
}

/** The sentence, the lines that prove it, what follows, and what to do. */
export function failureText(
  { Failure, Lines, LinesFrom, LinesOmitted, Check, NextAttempt, Remedies }: AllocationFailure,
  { host, output: { paint } }: Invocation,
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
    Check === undefined ? '' : checkText(Check),
    Lines === undefined ? '' : `${from}${Lines.map((line) => `    ${line}\n`).join('')}`,
    LinesOmitted === undefined ? '' : `  No log lines: ${LinesOmitted}\n`,
    NextAttempt === null ? '' : `  Next: ${nextText(NextAttempt, host.nowMs())}\n`,
    ...Remedies.map(({ Text: remedy, Command }) => `  ${remedy}:\n    ${Command}\n`),
  ].join('')
}

function checkText({ Check, Service, StatusCode, Output }: CheckResult): string {
  const status = StatusCode === undefined ? '' : ` answered ${StatusCode}`
  const body = Output.trimEnd()
    .split('\n')
    .map((line) => `    ${line}\n`)
  return `  Check "${Check}" of service "${Service}"${status}:\n${body.join('')}`
}

/** `in 14 s: Restart 3 on the same node; …` */
function nextText({ Text, Time, AllocID }: NextAttempt, nowMs: number): string {
  const dueMs = msFromNs(Time)
  const due = dueMs > nowMs ? `in ${formatAge(dueMs - nowMs)}: ` : ''
  return `${due}${Text}${AllocID === '' ? '' : ` (${shortId(AllocID)})`}`
}
