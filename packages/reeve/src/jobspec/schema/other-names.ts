import { NO_ALIASES, type JobFileAliases } from '../../compat/index.ts'
import { stringField, type RecordBuilder } from '../build/record-builder.ts'
import { schemaOf, type BlockMapping, type Field, type Nested } from './block-mapping.ts'

export const OWN_NAMES: JobFileAliases = NO_ALIASES.jobFile

/**
 * Returns a mapping that also accepts aliases of blocks, arguments and providers, at every level.
 */
export function withAliases(table: BlockMapping, aliases: JobFileAliases): BlockMapping {
  if (aliases === OWN_NAMES) return table
  return applyAliases(table, aliases, new Map())
}

function applyAliases(
  table: BlockMapping,
  aliases: JobFileAliases,
  known: Map<BlockMapping, BlockMapping>,
): BlockMapping {
  const before = known.get(table)
  if (before !== undefined) return before
  const attributes = addAliases<Field>(table.attributes, aliases.attributes)
  const nested = Object.entries(table.blocks).map(([type, row]): readonly [string, Nested] =>
    row.form === 'free'
      ? [type, row]
      : [type, { ...row, table: applyAliases(row.table, aliases, known) }],
  )
  const blocks = addAliases<Nested>(Object.fromEntries(nested), aliases.blocks)
  const finish = (draft: RecordBuilder): void => {
    table.finish?.(draft)
    normalizeProvider(draft, aliases)
  }
  const result = { ...table, attributes, blocks, finish, schema: schemaOf(attributes, blocks) }
  known.set(table, result)
  return result
}

function addAliases<Row>(
  rows: Readonly<Record<string, Row>>,
  names: Readonly<Record<string, string>>,
): Readonly<Record<string, Row>> {
  const aliasRows = Object.entries(names).flatMap(([other, own]) => {
    const row = Object.hasOwn(rows, own) ? rows[own] : undefined
    return row === undefined ? [] : [[other, row] as const]
  })
  return { ...rows, ...Object.fromEntries(aliasRows) }
}

function normalizeProvider(draft: RecordBuilder, { providers }: JobFileAliases): void {
  const given = stringField(draft, 'Provider')
  const own = given !== undefined && Object.hasOwn(providers, given) ? providers[given] : undefined
  if (own !== undefined) draft.values.set('Provider', own)
}
