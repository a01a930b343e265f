import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { table } from '../output/table.ts'
import { toneOf } from '../output/tone.ts'

export async function runSystemGc({ client, output }: Invocation): Promise<number> {
  await client.v1.collectGarbage()
  output.say('Garbage collection started.')
  return EXIT_CODES.ok
}

export async function runSystemReconcile({ client, output }: Invocation): Promise<number> {
  await client.v1.reconcileSummaries()
  output.say('Job summaries are being recomputed.')
  return EXIT_CODES.ok
}

export async function runServerForceLeave({ args, client, flags, output }: Invocation) {
  const [node = ''] = args
  const prune = flags.has('prune')
  await client.v1.forceLeaveAgent({ query: { node, ...(prune && { prune }) } })
  output.say(`Server "${node}" is ${prune ? 'removed' : 'marked as left'}.`)
  return EXIT_CODES.ok
}

export async function runServerMembers({ client, output }: Invocation): Promise<number> {
  const { data } = await client.v1.listAgentMembers()
  output.show(data, () => {
    const rows = data.Members.map(({ Name, Addr, Port, Status, Tags }) => {
      return [
        Name,
        `${Addr.includes(':') ? `[${Addr}]` : Addr}:${Port}`,
        output.paint(toneOf(Status), Status),
        Tags['leader'] === 'true' ? 'leader' : '',
        Tags['build'] ?? '',
        Tags['dc'] ?? '',
        Tags['region'] ?? '',
      ]
    })
    return table(['Name', 'Address', 'Status', '', 'Version', 'Datacenter', 'Region'], rows)
  })
  return EXIT_CODES.ok
}
