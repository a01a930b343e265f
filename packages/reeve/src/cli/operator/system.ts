import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { renderTable } from '../output/table.ts'
import { statusStyle } from '../output/tone.ts'

export async function runSystemGc({ client, output }: CommandContext): Promise<number> {
  await client.v1.collectGarbage()
  output.printLine('Garbage collection started.')
  return EXIT_CODES.ok
}

export async function runSystemReconcile({ client, output }: CommandContext): Promise<number> {
  await client.v1.reconcileSummaries()
  output.printLine('Job summaries are being recomputed.')
  return EXIT_CODES.ok
}

export async function runServerForceLeave({ args, client, flags, output }: CommandContext) {
  const [node = ''] = args
  const prune = flags.has('prune')
  await client.v1.forceLeaveAgent({ query: { node, ...(prune && { prune }) } })
  output.printLine(`Server "${node}" is ${prune ? 'removed' : 'marked as left'}.`)
  return EXIT_CODES.ok
}

export async function runServerMembers({ client, output }: CommandContext): Promise<number> {
  const { data } = await client.v1.listAgentMembers()
  output.print(data, () => {
    const rows = data.Members.map(({ Name, Addr, Port, Status, Tags }) => {
      return [
        Name,
        `${Addr.includes(':') ? `[${Addr}]` : Addr}:${Port}`,
        output.paint(statusStyle(Status), Status),
        Tags['leader'] === 'true' ? 'leader' : '',
        Tags['build'] ?? '',
        Tags['dc'] ?? '',
        Tags['region'] ?? '',
      ]
    })
    return renderTable(['Name', 'Address', 'Status', '', 'Version', 'Datacenter', 'Region'], rows)
  })
  return EXIT_CODES.ok
}
