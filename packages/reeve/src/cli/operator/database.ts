import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'

export async function runAcceptLoss({ client, output }: CommandContext): Promise<number> {
  const { data } = await client.v1.acceptDatabaseLoss()
  output.print(data, () => {
    if (data.Accepted.length === 0) return 'No commits are missing. Nothing was changed.\n'
    const lines = data.Accepted.map(({ FromIndex, ToIndex, Commits }) => {
      return `${Commits} ${Commits === 1 ? 'commit' : 'commits'} (index ${FromIndex} to ${ToIndex})`
    })
    return `Writes are accepted again. Lost for good: ${lines.join('; ')}.\n`
  })
  return EXIT_CODES.ok
}
