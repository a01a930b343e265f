import type { Deployment } from '@reeve/contract'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { idText } from '../find-id.ts'
import { table } from '../output/table.ts'
import { agoFromNs } from '../output/time.ts'
import { toneOf } from '../output/tone.ts'

export async function runDeploymentList(invocation: Invocation): Promise<number> {
  const { client, flags, output, signal } = invocation
  const query = { filter: filterOf(invocation), reverse: true }
  const found: Deployment[] = []
  for await (const one of client.pages('listDeployments', { query, signal })) found.push(one)
  output.show(found, () => {
    if (found.length === 0) return 'There are no such deployments.'
    const rows = found.map((one) => [
      idText(one.ID, flags.has('verbose')),
      one.JobID,
      String(one.JobVersion),
      output.paint(toneOf(one.Status), one.Status),
      agoFromNs(one.CreateTime, invocation.host.nowMs()),
      one.StatusDescription,
    ])
    return table(['ID', 'Job', 'Version', 'Status', 'Created', 'Description'], rows)
  })
  return EXIT_CODES.ok
}

function filterOf({ flags }: Invocation): string | undefined {
  const job = flags.text('job')
  const parts = [
    flags.text('filter'),
    job === undefined ? undefined : `JobID == ${JSON.stringify(job)}`,
  ].filter((part) => part !== undefined)
  return parts.length === 0 ? undefined : parts.map((part) => `(${part})`).join(' and ')
}
