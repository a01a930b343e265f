import type { Deployment } from '@reeve/contract'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { formatId } from '../find-id.ts'
import { renderTable } from '../output/table.ts'
import { agoFromNs } from '../output/time.ts'
import { statusStyle } from '../output/tone.ts'

export async function runDeploymentList(invocation: CommandContext): Promise<number> {
  const { client, flags, output, signal } = invocation
  const query = { filter: filterOf(invocation), reverse: true }
  const found: Deployment[] = []
  for await (const one of client.pages('listDeployments', { query, signal })) found.push(one)
  output.print(found, () => {
    if (found.length === 0) return 'There are no such deployments.'
    const rows = found.map((one) => [
      formatId(one.ID, flags.has('verbose')),
      one.JobID,
      String(one.JobVersion),
      output.paint(statusStyle(one.Status), one.Status),
      agoFromNs(one.CreateTime, invocation.host.nowMs()),
      one.StatusDescription,
    ])
    return renderTable(['ID', 'Job', 'Version', 'Status', 'Created', 'Description'], rows)
  })
  return EXIT_CODES.ok
}

function filterOf({ flags }: CommandContext): string | undefined {
  const job = flags.string('job')
  const parts = [
    flags.string('filter'),
    job === undefined ? undefined : `JobID == ${JSON.stringify(job)}`,
  ].filter((part) => part !== undefined)
  return parts.length === 0 ? undefined : parts.map((part) => `(${part})`).join(' and ')
}
