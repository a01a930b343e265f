import type { FuzzyMatch } from '@reeve/contract'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../errors.ts'
import { renderTable } from '../output/format.ts'

/** `search`: finds objects by ID or name prefix, or by substring with `--fuzzy`. */
export async function runSearch(invocation: CommandContext): Promise<number> {
  const { args, client, flags, output } = invocation
  const text = args[0] ?? ''
  const Context = flags.string('context') ?? 'all'
  const { data } = flags.has('fuzzy')
    ? await client.v1.fuzzySearch({ body: { Text: text, Context } })
    : await client.v1.search({ body: { Prefix: text, Context } })
  const rows = Object.entries(data.Matches)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([context, matches]) => {
      const found: readonly (string | FuzzyMatch)[] = matches ?? []
      return found.map((match) => matchRow(context, match))
    })
  const truncated = Object.keys(data.Truncations).filter(
    (context) => data.Truncations[context] === true,
  )
  output.print(data, () =>
    rows.length === 0 ? 'No matches.' : renderTable(['In', 'Found', 'Where'], rows),
  )
  if (truncated.length > 0)
    output.printNotice(`More matches in ${truncated.join(', ')}: give more of the text.`)
  return EXIT_CODES.ok
}

function matchRow(context: string, match: string | FuzzyMatch): readonly string[] {
  if (typeof match === 'string') return [context, match, '']
  return [context, match.ID, (match.Scope ?? []).join(' / ')]
}
