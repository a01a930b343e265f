import { v2 } from '@reeve/contract'
import { err, ok, type Result } from '../kit/result.ts'
import {
  ANY,
  decodeBody,
  errorAt,
  formatDiagnostic,
  makeScope,
  parse,
  STRING,
  toJson,
  type BodySchema,
  type DecodedBlock,
  type DecodedBody,
  type Diagnostic,
  type Value,
} from '../lang/hcl/index.ts'
import { isPlainObject } from './plain.ts'
import type { PlainObject } from './subject.ts'

/** What the archive of a policy set says of itself: which files are policies, at which level. */
export interface SetManifest {
  /** By name. */
  readonly policies: readonly ManifestPolicy[]
  /** For all of them. */
  readonly params: PlainObject
}

export interface ManifestPolicy {
  readonly name: string
  readonly description: string | null
  readonly query: string | null
  readonly level: v2.EnforcementLevel
  /** The file, as written: relative to the manifest. */
  readonly source: string
  readonly params: PlainObject
}

/** How the file is called (reference policy-languages §3.5). */
export const MANIFEST_FILES = {
  native: 'native.hcl',
  opa: 'policies.hcl',
} as const satisfies Record<v2.PolicyKind, string>

/** Reference policy-languages §3.5: what a policy block that names no level means. */
const LEVEL_DEFAULT = 'advisory'

/** Reads a manifest; fails with everything that is wrong in it, a line each. */
export function readSetManifest(kind: v2.PolicyKind, text: string): Result<SetManifest, string> {
  const body = parse(text, MANIFEST_FILES[kind])
  if (!body.ok) return err(textOf(body.error))
  const decoded = decodeBody(body.value, SCHEMAS[kind], { scope: makeScope() })
  if (!decoded.ok) return err(textOf(decoded.error))
  const problems: Diagnostic[] = []
  const blocks = blocksByName(decoded.value, 'policy', problems)
  const policies = blocks.map(([name, block]) => readPolicy({ kind, name, block }, problems))
  const params = blocksByName(decoded.value, 'param', problems).map(
    ([name, { body: inner }]): [string, Value] => [name, valueIn(inner, 'value') ?? null],
  )
  if (problems.length > 0) return err(textOf(problems))
  return ok({
    policies,
    params: Object.fromEntries(params.map(([name, one]) => [name, plain(one)])),
  })
}

const shared = {
  source: { type: STRING },
  enforcement_level: { type: STRING },
  description: { type: STRING },
  params: { type: ANY },
} as const

function schemaOf(policy: NonNullable<BodySchema['attributes']>): BodySchema {
  const value = { type: ANY, isRequired: true }
  return {
    blocks: {
      policy: { labels: ['name'], body: { attributes: policy } },
      param: { labels: ['name'], body: { attributes: { value } } },
    },
  }
}

const SCHEMAS: Readonly<Record<v2.PolicyKind, BodySchema>> = {
  native: schemaOf(shared),
  opa: schemaOf({ ...shared, query: { type: STRING, isRequired: true } }),
}

/** Blocks of a type by their label, each of which must be there once. */
function blocksByName(
  { blocks }: DecodedBody,
  type: string,
  problems: Diagnostic[],
): readonly (readonly [string, DecodedBlock])[] {
  const found = new Map<string, DecodedBlock>()
  for (const block of blocks) {
    const [name = ''] = block.labels
    if (block.type !== type) continue
    if (found.has(name))
      problems.push(
        errorAt(block.headerSpan, 'Duplicate block', `${type} "${name}" is there twice.`),
      )
    found.set(name, block)
  }
  return [...found].toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
}

interface PolicyBlock {
  readonly kind: v2.PolicyKind
  readonly name: string
  readonly block: DecodedBlock
}

function readPolicy({ kind, name, block }: PolicyBlock, problems: Diagnostic[]): ManifestPolicy {
  const { body, headerSpan } = block
  const refuse = (detail: string): void =>
    void problems.push(errorAt(headerSpan, 'Unsuitable policy', detail))
  if (!NAME.test(name) || name.length > v2.NAME_LENGTH_MAX)
    refuse(`"${name}" is no name: letters, numbers, - and _, at most ${v2.NAME_LENGTH_MAX}.`)
  const levels: readonly v2.EnforcementLevel[] = v2.ENFORCEMENT_LEVELS[kind]
  const given = textIn(body, 'enforcement_level') ?? LEVEL_DEFAULT
  const level = levels.find((one) => one === given)
  if (level === undefined) refuse(`enforcement_level must be one of ${levels.join(', ')}.`)
  const params = plain(valueIn(body, 'params') ?? {})
  if (!isPlainObject(params)) refuse('params must be an object.')
  return {
    name,
    description: textIn(body, 'description') ?? null,
    query: textIn(body, 'query') ?? null,
    level: level ?? LEVEL_DEFAULT,
    source: textIn(body, 'source') ?? `./${name}${v2.POLICY_FILE_SUFFIXES[kind]}`,
    params: isPlainObject(params) ? params : {},
  }
}

const NAME = new RegExp(v2.POLICY_NAME_PATTERN)

function valueIn(body: DecodedBody, name: string): Value | undefined {
  return body.attributes.get(name)?.value
}

function textIn(body: DecodedBody, name: string): string | undefined {
  const value = valueIn(body, name)
  return typeof value === 'string' ? value : undefined
}

function plain(value: Value): PlainObject[string] {
  // JSON is plain data.
  return JSON.parse(toJson(value)) as PlainObject[string]
}

function textOf(diagnostics: readonly Diagnostic[]): string {
  return diagnostics.map(formatDiagnostic).join('\n')
}
