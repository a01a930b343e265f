import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { sections } from '../output/known-fields.ts'
import { fields } from '../output/table.ts'

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
