import type { BlockSchema, BodySchema } from '@reeve/hcl'
import { JOB } from '../schema/job.ts'
import { KINDS } from '../schema/kind.ts'
import { text, type BlockTable, type Nested } from '../schema/table.ts'

/** Blocks of which the older reader allowed one where there may be several now. */
const SINGLE: ReadonlySet<string> = new Set(['network'])

/** Arguments of a job that the older syntax has alone: tokens are given by the API now. */
const TOKENS = {
  secret_store_token: text('SecretStoreToken'),
  discovery_token: text('DiscoveryToken'),
}

/** A job in the older syntax, made from the same tables. */
export const LEGACY_JOB: BlockTable = withLegacySchema({
  ...JOB,
  attributes: { ...JOB.attributes, ...TOKENS },
})

function withLegacySchema(table: BlockTable): BlockTable {
  return { ...table, schema: legacySchema(table) }
}

/**
 * Maps are attributes only: the older syntax reads `meta { … }` as `meta = { … }`, and merges
 * several.
 */
function legacySchema({
  attributes,
  blocks,
}: Pick<BlockTable, 'attributes' | 'blocks'>): BodySchema {
  return {
    attributes: Object.fromEntries(
      Object.entries(attributes).map(([name, { kind }]) => [name, KINDS[kind]]),
    ),
    blocks: Object.fromEntries(
      Object.entries(blocks).map(([type, row]) => [type, legacyBlock(type, row)]),
    ),
  }
}

function legacyBlock(type: string, row: Nested): BlockSchema {
  if (row.form === 'free') return { countMax: 1 }
  const { table } = row
  return {
    body: legacySchema(table),
    ...(table.label === undefined ? {} : { labels: ['name'] }),
    ...(row.form === 'one' || SINGLE.has(type) ? { countMax: 1 } : {}),
  }
}
