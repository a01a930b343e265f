import { FOLLOWED_LEVELS } from '@reeve/contract'
import { copyFrames } from '../alloc/streams.ts'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES, UsageError } from '../errors.ts'
import { resolveNode } from '../node/find-node.ts'
import { joinSections, renderFields } from '../output/format.ts'
import { createOutputWriter } from '../output/printable.ts'

/** `agent monitor`: the log of an agent until Ctrl-C, or until the agent ends. */
export async function runAgentMonitor(invocation: CommandContext): Promise<number> {
  const { client, flags, host, output, signal } = invocation
  const [node, server] = [flags.string('node'), flags.string('server')]
  if (node !== undefined && server !== undefined) {
    throw new UsageError('name a node or a server, not both.')
  }
  const query = {
    log_level: flags.oneOf('log-level', FOLLOWED_LEVELS) ?? 'info',
    log_json: flags.has('json'),
    ...(server !== undefined && { server_id: server }),
    ...(node !== undefined && { node_id: (await resolveNode({ ...invocation, args: [node] })).ID }),
  }
  const frames = client.frames('monitorAgent', { query, signal })
  await copyFrames(frames, createOutputWriter(host, 'stdout'), (what) => output.printNotice(what))
  output.printNotice('The agent closed the log stream.')
  return EXIT_CODES.ok
}

/** `agent info`: the statistics of the agent that answers, by part. */
export async function runAgentInfo({ client, output }: CommandContext): Promise<number> {
  const { data } = await client.v1.readAgentSelf()
  output.print(data, () => {
    const { member, stats } = data
    const head = renderFields([
      ['Name', member.Name],
      ['Address', `${member.Addr}:${member.Port}`],
      ['Status', output.paint(member.Status === 'alive' ? 'good' : 'bad', member.Status)],
    ])
    const parts = Object.entries(stats)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([part, values]) => `${part}\n${renderFields(Object.entries(values))}`)
    return joinSections([head, ...parts])
  })
  return EXIT_CODES.ok
}
