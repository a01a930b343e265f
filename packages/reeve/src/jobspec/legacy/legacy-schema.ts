import type { BlockSchema, BodySchema } from '@reeve/hcl'
import { JOB } from '../schema/job.ts'
import type { JobFileAliases } from '../../compat/index.ts'
import { withAliases } from '../schema/other-names.ts'
import { ATTRIBUTE_KINDS } from '../schema/kind.ts'
import { string, type BlockMapping, type Nested } from '../schema/table.ts'

/** Blocks that HCL 1 files could have only once. */
const SINGLE_BLOCKS: ReadonlySet<string> = new Set(['network'])

/** Arguments of a job that only HCL 1 files have. Today requests supply the tokens. */
const TOKEN_ARGUMENTS = {
  secret_store_token: string('SecretStoreToken', 'Older syntax only.'),
  discovery_token: string('DiscoveryToken', 'Older syntax only.'),
}

/** The mapping of a job in HCL 1, derived from the HCL 2 mapping. */
export function legacyJob(aliases: JobFileAliases): BlockMapping {
  const attributes = { ...JOB.attributes, ...TOKEN_ARGUMENTS }
  return withLegacySchema(withAliases({ ...JOB, attributes }, aliases))
}

function withLegacySchema(table: BlockMapping): BlockMapping {
  return { ...table, schema: legacySchema(table) }
}

/**
 * Maps are attributes only: HCL 1 reads `meta { … }` as `meta = { … }` and merges repeated ones.
 */
function legacySchema({
  attributes,
  blocks,
}: Pick<BlockMapping, 'attributes' | 'blocks'>): BodySchema {
  return {
    attributes: Object.fromEntries(
      Object.entries(attributes).map(([name, { kind }]) => [name, ATTRIBUTE_KINDS[kind]]),
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
    ...(row.form === 'one' || SINGLE_BLOCKS.has(type) ? { countMax: 1 } : {}),
  }
}
