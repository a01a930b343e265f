import type { CheckResult } from '@reeve/contract'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { renderTable } from '../output/table.ts'
import { formatAge } from '../output/time.ts'
import { statusStyle } from '../output/tone.ts'
import { allocationRequest, resolveAllocation } from './find-allocation.ts'

/** `alloc checks`: prints the latest result of each health check; exits with 1 while one fails. */
export async function runAllocChecks(invocation: CommandContext): Promise<number> {
  const { args, client, output } = invocation
  const allocation = await resolveAllocation(invocation, args[0])
  const { data } = await client.v1.readAllocationChecks(allocationRequest(allocation))
  const results = Object.values(data).toSorted(byService)
  output.print(data, () =>
    results.length === 0
      ? `Allocation ${allocation.Name} has no health checks.`
      : formatChecks(results, invocation),
  )
  return results.some(({ Status }) => Status === 'failure') ? EXIT_CODES.failed : EXIT_CODES.ok
}

function byService(a: CheckResult, b: CheckResult): number {
  const [one, other] = [`${a.Service}\0${a.Check}\0${a.ID}`, `${b.Service}\0${b.Check}\0${b.ID}`]
  return one < other ? -1 : 1
}

function formatChecks(results: readonly CheckResult[], { host, output }: CommandContext): string {
  const rows = results.map((result) => [
    result.Service,
    result.Check,
    result.Task ?? '',
    output.paint(statusStyle(result.Status), result.Status),
    result.StatusCode === undefined ? '' : String(result.StatusCode),
    `${formatAge(host.nowMs() - result.Timestamp * 1000)} ago`,
  ])
  const failures = results.filter(({ Status }) => Status === 'failure')
  const details = failures.map(
    ({ Service, Check, Output }) => `\nCheck "${Check}" of service "${Service}":\n${Output}\n`,
  )
  return `${renderTable(['Service', 'Check', 'Task', 'Status', 'Code', 'Checked'], rows)}${details.join('')}`
}
