import { NO_ALIASES, type JobFileAliases } from '../../compat/index.ts'
import { textOf, type Draft } from '../build/draft.ts'
import { schemaOf, type BlockTable, type Field, type Nested } from './table.ts'

export const OWN_NAMES: JobFileAliases = NO_ALIASES.jobFile

/**
 * Returns a mapping that also accepts aliases of blocks, arguments and providers, at every level.
 */
export function withOtherNames(table: BlockTable, aliases: JobFileAliases): BlockTable {
  if (aliases === OWN_NAMES) return table
  return renamed(table, aliases, new Map())
}

function renamed(
  table: BlockTable,
  aliases: JobFileAliases,
  known: Map<BlockTable, BlockTable>,
): BlockTable {
  const before = known.get(table)
  if (before !== undefined) return before
  const attributes = addOthers<Field>(table.attributes, aliases.attributes)
  const nested = Object.entries(table.blocks).map(([type, row]): readonly [string, Nested] =>
    row.form === 'free'
      ? [type, row]
      : [type, { ...row, table: renamed(row.table, aliases, known) }],
  )
  const blocks = addOthers<Nested>(Object.fromEntries(nested), aliases.blocks)
  const finish = (draft: Draft): void => {
    table.finish?.(draft)
    nameProvider(draft, aliases)
  }
  const result = { ...table, attributes, blocks, finish, schema: schemaOf(attributes, blocks) }
  known.set(table, result)
  return result
}

function addOthers<Row>(
  rows: Readonly<Record<string, Row>>,
  names: Readonly<Record<string, string>>,
): Readonly<Record<string, Row>> {
  const others = Object.entries(names).flatMap(([other, own]) => {
    const row = Object.hasOwn(rows, own) ? rows[own] : undefined
    return row === undefined ? [] : [[other, row] as const]
  })
  return { ...rows, ...Object.fromEntries(others) }
}

function nameProvider(draft: Draft, { providers }: JobFileAliases): void {
  const given = textOf(draft, 'Provider')
  const own = given !== undefined && Object.hasOwn(providers, given) ? providers[given] : undefined
  if (own !== undefined) draft.values.set('Provider', own)
}
