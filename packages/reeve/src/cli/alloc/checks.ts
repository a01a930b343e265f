import type { CheckResult } from '@reeve/contract'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { table } from '../output/table.ts'
import { formatAge } from '../output/time.ts'
import { toneOf } from '../output/tone.ts'
import { callFor, chosenAllocation } from './find-allocation.ts'

/** `alloc checks`: the latest result of every health check; fails while one of them does. */
export async function runAllocChecks(invocation: Invocation): Promise<number> {
  const { args, client, output } = invocation
  const allocation = await chosenAllocation(invocation, args[0])
  const { data } = await client.v1.readAllocationChecks(callFor(allocation))
  const results = Object.values(data).toSorted(byService)
  output.show(data, () =>
    results.length === 0
      ? `Allocation ${allocation.Name} has no health checks.`
      : checksText(results, invocation),
  )
  return results.some(({ Status }) => Status === 'failure') ? EXIT_CODES.failed : EXIT_CODES.ok
}

function byService(a: CheckResult, b: CheckResult): number {
  const [one, other] = [`${a.Service}\0${a.Check}\0${a.ID}`, `${b.Service}\0${b.Check}\0${b.ID}`]
  return one < other ? -1 : 1
}

function checksText(results: readonly CheckResult[], { host, output }: Invocation): string {
  const rows = results.map((result) => [
    result.Service,
    result.Check,
    result.Task ?? '',
    output.paint(toneOf(result.Status), result.Status),
    result.StatusCode === undefined ? '' : String(result.StatusCode),
    `${formatAge(host.nowMs() - result.Timestamp * 1000)} ago`,
  ])
  const failures = results.filter(({ Status }) => Status === 'failure')
  const details = failures.map(
    ({ Service, Check, Output }) => `\nCheck "${Check}" of service "${Service}":\n${Output}\n`,
  )
  return `${table(['Service', 'Check', 'Task', 'Status', 'Code', 'Checked'], rows)}${details.join('')}`
}
