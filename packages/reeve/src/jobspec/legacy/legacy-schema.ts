import type { BlockSchema, BodySchema } from '@reeve/hcl'
import { JOB } from '../schema/job.ts'
import type { JobFileAliases } from '../../compat/index.ts'
import { withOtherNames } from '../schema/other-names.ts'
import { KINDS } from '../schema/kind.ts'
import { text, type BlockTable, type Nested } from '../schema/table.ts'

/** Blocks that HCL 1 files could have only once. */
const SINGLE: ReadonlySet<string> = new Set(['network'])

/** Arguments of a job that only HCL 1 files have. Today requests supply the tokens. */
const TOKENS = {
  secret_store_token: text('SecretStoreToken', 'Older syntax only.'),
  discovery_token: text('DiscoveryToken', 'Older syntax only.'),
}

/** The mapping of a job in HCL 1, derived from the HCL 2 mapping. */
export function legacyJob(aliases: JobFileAliases): BlockTable {
  const attributes = { ...JOB.attributes, ...TOKENS }
  return withLegacySchema(withOtherNames({ ...JOB, attributes }, aliases))
}

function withLegacySchema(table: BlockTable): BlockTable {
  return { ...table, schema: legacySchema(table) }
}

/**
 * Maps are attributes only: HCL 1 reads `meta { … }` as `meta = { … }` and merges repeated ones.
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
