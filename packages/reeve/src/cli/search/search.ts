import type { FuzzyMatch } from '@reeve/contract'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { table } from '../output/table.ts'

/** What begins with a text, or with `--fuzzy` holds it. */
export async function runSearch(invocation: Invocation): Promise<number> {
  const { args, client, flags, output } = invocation
  const text = args[0] ?? ''
  const Context = flags.text('context') ?? 'all'
  const { data } = flags.has('fuzzy')
    ? await client.v1.fuzzySearch({ body: { Text: text, Context } })
    : await client.v1.search({ body: { Prefix: text, Context } })
  const rows = Object.entries(data.Matches)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([context, matches]) => {
      const found: readonly (string | FuzzyMatch)[] = matches ?? []
      return found.map((match) => rowOf(context, match))
    })
  const cut = Object.keys(data.Truncations).filter((context) => data.Truncations[context] === true)
  output.show(data, () =>
    rows.length === 0 ? 'No matches.' : table(['In', 'Found', 'Where'], rows),
  )
  if (cut.length > 0) output.note(`More matches in ${cut.join(', ')}: give more of the text.`)
  return EXIT_CODES.ok
}

function rowOf(context: string, match: string | FuzzyMatch): readonly string[] {
  if (typeof match === 'string') return [context, match, '']
  return [context, match.ID, (match.Scope ?? []).join(' / ')]
}
