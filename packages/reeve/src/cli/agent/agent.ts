import { FOLLOWED_LEVELS } from '@reeve/contract'
import { copyFrames } from '../alloc/copy.ts'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { UsageError } from '../failure.ts'
import { chosenNode } from '../node/find-node.ts'
import { sections } from '../output/known-fields.ts'
import { taskWriter } from '../output/printable.ts'
import { fields } from '../output/table.ts'

/** `agent monitor`: the log of an agent until Ctrl-C, or until the agent ends. */
export async function runAgentMonitor(invocation: Invocation): Promise<number> {
  const { client, flags, host, output, signal } = invocation
  const [node, server] = [flags.text('node'), flags.text('server')]
  if (node !== undefined && server !== undefined) {
    throw new UsageError('name a node or a server, not both.')
  }
  const query = {
    log_level: flags.oneOf('log-level', FOLLOWED_LEVELS) ?? 'info',
    log_json: flags.has('json'),
    ...(server !== undefined && { server_id: server }),
    ...(node !== undefined && { node_id: (await chosenNode({ ...invocation, args: [node] })).ID }),
  }
  const frames = client.frames('monitorAgent', { query, signal })
  await copyFrames(frames, taskWriter(host, 'stdout'), (what) => output.note(what))
  output.note('The agent closed the log stream.')
  return EXIT_CODES.ok
}

/** `agent info`: the statistics of the agent that answers, by part. */
export async function runAgentInfo({ client, output }: Invocation): Promise<number> {
  const { data } = await client.v1.readAgentSelf()
  output.show(data, () => {
    const { member, stats } = data
    const head = fields([
      ['Name', member.Name],
      ['Address', `${member.Addr}:${member.Port}`],
      ['Status', output.paint(member.Status === 'alive' ? 'good' : 'bad', member.Status)],
    ])
    const parts = Object.entries(stats)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([part, values]) => `${part}\n${fields(Object.entries(values))}`)
    return sections([head, ...parts])
  })
  return EXIT_CODES.ok
}
