import type { JobFileAliases } from '../compat/index.ts'
import { err, ok } from '@reeve/kit/result.ts'
import {
  decodeBody,
  errorAt,
  readPartialContent,
  makeObject,
  parseHcl1,
  quoteText,
  toBool,
  type BodySchema,
  type DecodedBlock,
  type DecodedBody,
  type BlockSchema,
} from '@reeve/hcl'
import {
  sortBySource,
  createDiagnosticList,
  report,
  reportAll,
  type DiagnosticList,
} from './diagnostics.ts'
import { buildJob, findJobBlock, type JobFileResult } from './parse-job-file.ts'
import { JOB } from './schema/job.ts'
import { ATTRIBUTE_KINDS, type BlockMapping, type Nested, string } from './schema/block-mapping.ts'
import { checkLength, type SourceFile } from './source.ts'
import { createJobScope } from './scope.ts'
import { OWN_NAMES, withAliases } from './schema/other-names.ts'

const LEGACY_FILE_SCHEMA: BodySchema = { blocks: { job: { labels: ['name'] } } }

/**
 * Parses a job file in HCL 1: no variables, locals, functions and dynamic blocks; `${…}` is text.
 * Only parsing differs; the job is built in the same way.
 */
export function parseLegacyJobFile({
  file,
  text,
  aliases = OWN_NAMES,
}: SourceFile & { readonly aliases?: JobFileAliases }): JobFileResult {
  const tooLong = checkLength({ file, text })
  if (tooLong !== undefined) return err([tooLong])
  const body = parseHcl1(text, file)
  if (!body.ok) return body
  const findings = createDiagnosticList()
  const { content, diagnostics } = readPartialContent(body.value, LEGACY_FILE_SCHEMA)
  reportAll(findings, diagnostics)
  const block = findJobBlock(body.value, content, findings)
  if (block === undefined) return err(sortBySource(findings.errors))
  const scope = createJobScope(new Map())
  const table = legacyJob(aliases)
  const decoded = decodeBody(block.body, table.schema, { scope })
  if (!decoded.ok) reportAll(findings, decoded.error)
  const building = { table, findings, meter: scope.meter, fallbackSpan: body.value.anchor }
  const built = decoded.ok
    ? buildJob(block, adaptBlocks(decoded.value, table, findings), building)
    : undefined
  if (built === undefined || findings.errors.length > 0) return err(sortBySource(findings.errors))
  return ok({ ...built, warnings: findings.warnings, variables: makeObject([]) })
}

/** Applies the different treatment that HCL 1 gave to blocks of both versions. */
function adaptBlocks(
  body: DecodedBody,
  table: BlockMapping,
  findings: DiagnosticList,
): DecodedBody {
  const blocks = body.blocks.flatMap((block) => {
    const row = table.blocks[block.type]
    // The content of an opaque block is not interpreted.
    if (row === undefined || row.form === 'free') return [block]
    if (block.type === 'constraint' && isDisabled(block)) return []
    if (block.type === 'port') checkPortLabel(block, findings)
    return [{ ...block, body: adaptBlocks(block.body, row.table, findings) }]
  })
  return { ...body, blocks }
}

/** `distinct_hosts = false` means no constraint. */
function isDisabled({ body }: DecodedBlock): boolean {
  return toBool(body.attributes.get('distinct_hosts')?.value ?? null) === false
}

const PORT_LABEL = /^[a-zA-Z0-9_]+$/

function checkPortLabel(
  { labels: [label = ''], headerSpan }: DecodedBlock,
  findings: DiagnosticList,
) {
  if (PORT_LABEL.test(label)) return
  const detail = () =>
    `The label of a port has letters, digits and "_" only, but found ${quoteText(label)}.`
  report(findings, () => errorAt(headerSpan, 'Invalid port label', detail()))
}

/** Blocks that HCL 1 files could have only once. */
const SINGLE_BLOCKS: ReadonlySet<string> = new Set(['network'])

/** Arguments of a job that only HCL 1 files have. Today requests supply the tokens. */
const TOKEN_ARGUMENTS = {
  secret_store_token: string('SecretStoreToken', 'Older syntax only.'),
  discovery_token: string('DiscoveryToken', 'Older syntax only.'),
}

/** The mapping of a job in HCL 1, derived from the HCL 2 mapping. */
function legacyJob(aliases: JobFileAliases): BlockMapping {
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
