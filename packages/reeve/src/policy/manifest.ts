import { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  decodeBody,
  errorAt,
  getAttribute,
  isObject,
  createScope,
  parseHcl,
  parseHclJson,
  toJson,
  type BodySchema,
  type DecodedBlock,
  type DecodedBody,
  type Diagnostic,
  type Span,
  type Value,
  formatDiagnostic,
} from '@reeve/hcl'
import { parseExactJson, STANDARD_IMPORTS, type JsonValue } from '@reeve/native-policy'
import type { JsonObject } from './policy-input.ts'

/**
 * Contents of the manifest of a policy set, or of a test case of a policy. Sources are paths as
 * written in the file.
 */
export interface Manifest {
  readonly policies: readonly ManifestPolicy[]
  readonly modules: ReadonlyMap<string, string>
  readonly statics: ReadonlyMap<string, string>
  readonly params: ReadonlyMap<string, JsonValue>
  readonly globals: ReadonlyMap<string, JsonValue>
  readonly mocks: ReadonlyMap<string, ManifestMock>
  /** Locations of blocks that only test files may have. */
  readonly testBlocks: readonly { readonly type: string; readonly span: Span }[]
  /** The expected values of rules by name; undefined without a `test` block. */
  readonly expectedRules: ReadonlyMap<string, JsonValue> | undefined
}

interface ManifestPolicy {
  readonly name: string
  /** Path of the policy's code; undefined means the file with the name of the policy. */
  readonly source: string | undefined
  readonly enforcementLevel: string
  /** Query of an `opa` policy. */
  readonly query: string | undefined
  readonly description: string | undefined
  readonly params: ReadonlyMap<string, JsonValue>
  /** Location of the block, for further diagnostics. */
  readonly span: Span
}

export type ManifestMock =
  | { readonly kind: 'data'; readonly value: JsonValue }
  | { readonly kind: 'module'; readonly source: string }

const KNOWN_LEVELS: ReadonlySet<string> = new Set([
  'advisory',
  'mandatory',
  'soft-mandatory',
  'hard-mandatory',
])

const TEST_BLOCKS: ReadonlySet<string> = new Set(['global', 'mock', 'test'])

const SOURCE: BodySchema = { attributes: { source: { isRequired: true }, format: {} } }
const VALUE: BodySchema = { attributes: { value: { isRequired: true } } }

const SCHEMA: BodySchema = {
  // Manifests of other systems have a block that only enables features.
  isOpen: true,
  blocks: {
    policy: {
      labels: ['name'],
      body: {
        attributes: {
          source: {},
          enforcement_level: {},
          query: {},
          description: {},
          params: {},
        },
      },
    },
    module: { labels: ['name'], body: SOURCE },
    import: {
      labels: ['kind', 'name'],
      body: { attributes: { source: {}, format: {}, config: {} } },
    },
    param: { labels: ['name'], body: VALUE },
    global: { labels: ['name'], body: VALUE },
    mock: {
      labels: ['import'],
      body: { attributes: { data: {} }, blocks: { module: { countMax: 1, body: SOURCE } } },
    },
    test: { countMax: 1, body: { attributes: { rules: {} } } },
  },
}

/** Reads a manifest as HCL, or as JSON if the file name ends with `.json`. */
export function readManifest(file: string, text: string): Result<Manifest, readonly Diagnostic[]> {
  const body = file.endsWith('.json')
    ? parseHclJson(text, file, { hasTemplates: false })
    : parseHcl(text, file)
  if (!body.ok) return body
  const decoded = decodeBody(body.value, SCHEMA, { scope: createScope() })
  if (!decoded.ok) return decoded
  const reader = new ManifestReader()
  for (const { name, nameSpan } of decoded.value.attributes.values())
    reader.addProblem(nameSpan, `"${name}" is no argument here`)
  for (const block of decoded.value.blocks) reader.readBlock(block)
  return reader.problems.length > 0 ? err(reader.problems) : ok(reader)
}

class ManifestReader implements Manifest {
  readonly problems: Diagnostic[] = []
  readonly policies: ManifestPolicy[] = []
  readonly modules = new Map<string, string>()
  readonly statics = new Map<string, string>()
  readonly params = new Map<string, JsonValue>()
  readonly globals = new Map<string, JsonValue>()
  readonly mocks = new Map<string, ManifestMock>()
  readonly testBlocks: { readonly type: string; readonly span: Span }[] = []
  expectedRules: Map<string, JsonValue> | undefined

  readBlock(block: DecodedBlock): void {
    const [first = '', second = ''] = block.labels
    const { body } = block
    if (TEST_BLOCKS.has(block.type))
      this.testBlocks.push({ type: block.type, span: block.headerSpan })
    switch (block.type) {
      case 'policy':
        return this.#policy(first, block)
      case 'module':
        return this.#import(this.modules, first, block)
      case 'import':
        return this.#importOf(first, second, block)
      case 'param':
        return this.#param(first, block)
      case 'global':
        return void this.globals.set(first, toJsonValue(body.attributes.get('value')?.value))
      case 'mock':
        return this.#mock(first, block)
      case 'test':
        this.expectedRules = objectAttribute(body, 'rules')
        return
      default:
        return this.#unknownBlock(block)
    }
  }

  addProblem(span: Span, message: string): void {
    this.problems.push(errorAt(span, message, ''))
  }

  #policy(name: string, { body, headerSpan }: DecodedBlock): void {
    const enforcementLevel = stringAttribute(body, 'enforcement_level') ?? 'advisory'
    if (!KNOWN_LEVELS.has(enforcementLevel))
      this.addProblem(
        headerSpan,
        `"${enforcementLevel}" is no level: ${[...KNOWN_LEVELS].join(', ')} are`,
      )
    if (this.policies.some((policy) => policy.name === name))
      this.addProblem(headerSpan, `the policy "${name}" is there twice`)
    const params = body.attributes.get('params')?.value ?? null
    if (params !== null && !isObject(params))
      this.addProblem(headerSpan, `the params of "${name}" must be an object`)
    this.policies.push({
      name,
      source: stringAttribute(body, 'source'),
      enforcementLevel,
      query: stringAttribute(body, 'query'),
      description: stringAttribute(body, 'description'),
      params: objectAttribute(body, 'params'),
      span: headerSpan,
    })
  }

  #param(name: string, { body, headerSpan }: DecodedBlock): void {
    if (this.params.has(name)) this.addProblem(headerSpan, `the param "${name}" is there twice`)
    this.params.set(name, toJsonValue(body.attributes.get('value')?.value))
  }

  #importOf(kind: string, name: string, block: DecodedBlock): void {
    if (kind === 'module') return this.#import(this.modules, name, block)
    if (kind === 'static') {
      const format = stringAttribute(block.body, 'format') ?? 'json'
      if (format !== 'json')
        this.addProblem(block.headerSpan, `static data is "json", not "${format}"`)
      return this.#import(this.statics, name, block)
    }
    if (kind !== 'plugin' || !STANDARD_IMPORTS.has(name))
      this.addProblem(
        block.headerSpan,
        kind === 'plugin'
          ? `"${name}" is no standard import, and there are no others to be plugged in`
          : `"${kind}" is no kind of import: module and static are`,
      )
  }

  /** Modules and static data must not have the name of a standard import. */
  #import(target: Map<string, string>, name: string, { body, headerSpan }: DecodedBlock): void {
    const source = stringAttribute(body, 'source')
    if (source === undefined) this.addProblem(headerSpan, `"${name}" needs a source`)
    else if (STANDARD_IMPORTS.has(name))
      this.addProblem(headerSpan, `"${name}" is a standard import: nothing else can have its name`)
    else if (this.modules.has(name) || this.statics.has(name))
      this.addProblem(headerSpan, `"${name}" names two imports`)
    else target.set(name, source)
  }

  #mock(name: string, { body, headerSpan }: DecodedBlock): void {
    const [module] = body.blocks
    const data = body.attributes.get('data')
    if ((module === undefined) === (data === undefined))
      return this.addProblem(headerSpan, `the mock "${name}" needs either data or a module`)
    if (data !== undefined) this.mocks.set(name, { kind: 'data', value: toJsonValue(data.value) })
    else if (module !== undefined)
      this.mocks.set(name, { kind: 'module', source: stringAttribute(module.body, 'source') ?? '' })
  }

  #unknownBlock({ type, labels, body, headerSpan }: DecodedBlock): void {
    const names = [...body.attributes.keys(), ...body.blocks.map((block) => block.type)]
    if (labels.length > 0 || names.join() !== 'features')
      this.addProblem(headerSpan, `"${type}" is no block of a policy set`)
  }
}

function stringAttribute(body: DecodedBody, name: string): string | undefined {
  const value = body.attributes.get(name)?.value
  return typeof value === 'string' ? value : undefined
}

function objectAttribute(body: DecodedBody, name: string): Map<string, JsonValue> {
  const value = body.attributes.get(name)?.value ?? null
  if (!isObject(value)) return new Map()
  return new Map(
    Object.keys(value).map((member) => [member, toJsonValue(getAttribute(value, member))]),
  )
}

function toJsonValue(value: Value | undefined): JsonValue {
  return value === undefined ? null : parseExactJson(toJson(value))
}

/** Validated manifest of a policy set. */
export interface PolicySetManifest {
  /** Sorted by name. */
  readonly policies: readonly ManifestEntry[]
  /** Parameters of all policies of the set. */
  readonly params: JsonObject
  /** Paths of modules by name, as written, relative to the manifest. */
  readonly modules: ReadonlyMap<string, string>
  readonly statics: ReadonlyMap<string, string>
}

export interface ManifestEntry {
  readonly name: string
  readonly description: string | null
  readonly query: string | null
  readonly level: v2.EnforcementLevel
  /** Path of the code as written; undefined means the file with the name of the policy. */
  readonly source: string | undefined
  readonly params: JsonObject
}

/** File names of manifests. */
export const MANIFEST_FILES = {
  native: 'native.hcl',
  opa: 'policies.hcl',
} as const satisfies Record<v2.PolicyKind, string>

/** Reads and validates the manifest of a set. The error lists all problems, one per line. */
export function readSetManifest(
  kind: v2.PolicyKind,
  text: string,
  file: string = MANIFEST_FILES[kind],
): Result<PolicySetManifest, string> {
  const manifest = readManifest(file, text)
  if (!manifest.ok) return err(formatProblems(manifest.error))
  const { policies, params, modules, statics } = manifest.value
  if (policies.length > v2.POLICY_SET_VERSION_POLICIES_MAX)
    return err(
      `The manifest lists ${policies.length} policies; a version has at most ${v2.POLICY_SET_VERSION_POLICIES_MAX} policies`,
    )
  const problems = [
    ...testBlockProblems(manifest.value),
    ...policies.flatMap((policy) => policyProblems(kind, policy)),
  ]
  if (problems.length > 0) return err(formatProblems(problems))
  return ok({
    policies: policies
      .map((policy) => toManifestEntry(kind, policy))
      .toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)),
    params: toJsonObject(params),
    modules,
    statics,
  })
}

function testBlockProblems({ testBlocks }: Manifest): readonly Diagnostic[] {
  return testBlocks.map(({ type, span }) =>
    errorAt(span, 'Unsuitable block', `A set has no ${type}: it belongs to a test.`),
  )
}

const NAME_PATTERN = new RegExp(v2.POLICY_NAME_PATTERN)

function policyProblems(
  kind: v2.PolicyKind,
  { name, enforcementLevel, query, span }: ManifestPolicy,
): readonly Diagnostic[] {
  const levels: readonly string[] = v2.ENFORCEMENT_LEVELS[kind]
  const found: string[] = []
  if (!NAME_PATTERN.test(name) || name.length > v2.NAME_LENGTH_MAX)
    found.push(`"${name}" is no name: letters, numbers, - and _, at most ${v2.NAME_LENGTH_MAX}.`)
  if (!levels.includes(enforcementLevel))
    found.push(`enforcement_level must be one of ${levels.join(', ')}.`)
  if (kind === 'opa' && query === undefined) found.push('An opa policy needs a query.')
  if (kind === 'native' && query !== undefined) found.push('A native policy has no query.')
  return found.map((detail) => errorAt(span, 'Unsuitable policy', detail))
}

function toManifestEntry(kind: v2.PolicyKind, policy: ManifestPolicy): ManifestEntry {
  const { name, description, query, source, params, enforcementLevel } = policy
  const levels: readonly v2.EnforcementLevel[] = v2.ENFORCEMENT_LEVELS[kind]
  return {
    name,
    description: description ?? null,
    query: query ?? null,
    // Invalid levels were rejected before. The default level exists for both kinds.
    level: levels.find((level) => level === enforcementLevel) ?? 'advisory',
    source,
    params: toJsonObject(params),
  }
}

function toJsonObject(members: ReadonlyMap<string, JsonValue>): JsonObject {
  return Object.fromEntries([...members].map(([name, value]) => [name, toStorableJson(value)]))
}

/** Rows are stored as JSON, so integers beyond the range of doubles are converted. */
function toStorableJson(value: JsonValue): JsonValue {
  if (typeof value === 'bigint') return Number(value)
  if (typeof value !== 'object' || value === null) return value
  if (isList(value)) return value.map(toStorableJson)
  return toJsonObject(new Map(Object.entries(value)))
}

function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value)
}

function formatProblems(diagnostics: readonly Diagnostic[]): string {
  return diagnostics.map(formatDiagnostic).join('\n')
}
