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
} from '@reeve/hcl'
import { parseExactJson, STANDARD_IMPORTS, type JsonValue } from '@reeve/native-policy'

/**
 * What a policy set, or one test case of a policy, says in its file. Sources are paths as they are
 * written there.
 */
export interface Manifest {
  readonly policies: readonly ManifestPolicy[]
  readonly modules: ReadonlyMap<string, string>
  readonly statics: ReadonlyMap<string, string>
  readonly params: ReadonlyMap<string, JsonValue>
  readonly globals: ReadonlyMap<string, JsonValue>
  readonly mocks: ReadonlyMap<string, ManifestMock>
  /** Where blocks stand that only tests have. */
  readonly testOnly: readonly { readonly type: string; readonly span: Span }[]
  /** The rules that a test expects, by name; undefined without a `test` block. */
  readonly expected: ReadonlyMap<string, JsonValue> | undefined
}

export interface ManifestPolicy {
  readonly name: string
  /** Undefined: the file that is called like the policy. */
  readonly source: string | undefined
  readonly enforcementLevel: string
  /** What an `opa` policy is asked. */
  readonly query: string | undefined
  readonly description: string | undefined
  readonly params: ReadonlyMap<string, JsonValue>
  /** Where it stands, for whoever finds more to say about it. */
  readonly span: Span
}

export type ManifestMock =
  | { readonly kind: 'data'; readonly value: JsonValue }
  | { readonly kind: 'module'; readonly source: string }

const LEVELS: ReadonlySet<string> = new Set([
  'advisory',
  'mandatory',
  'soft-mandatory',
  'hard-mandatory',
])

const TEST_BLOCKS: ReadonlySet<string> = new Set(['global', 'mock', 'test'])

const SOURCE: BodySchema = { attributes: { source: { isRequired: true }, format: {} } }
const VALUE: BodySchema = { attributes: { value: { isRequired: true } } }

const SCHEMA: BodySchema = {
  // Other systems have a block of their own name here that only switches features on.
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

/** Reads `*.hcl`, or the same as JSON when the name ends so. */
export function readManifest(file: string, text: string): Result<Manifest, readonly Diagnostic[]> {
  const body = file.endsWith('.json')
    ? parseHclJson(text, file, { hasTemplates: false })
    : parseHcl(text, file)
  if (!body.ok) return body
  const decoded = decodeBody(body.value, SCHEMA, { scope: createScope() })
  if (!decoded.ok) return decoded
  const reader = new Reader()
  for (const { name, nameSpan } of decoded.value.attributes.values())
    reader.refuse(nameSpan, `"${name}" is no argument here`)
  for (const block of decoded.value.blocks) reader.block(block)
  return reader.problems.length > 0 ? err(reader.problems) : ok(reader)
}

class Reader implements Manifest {
  readonly problems: Diagnostic[] = []
  readonly policies: ManifestPolicy[] = []
  readonly modules = new Map<string, string>()
  readonly statics = new Map<string, string>()
  readonly params = new Map<string, JsonValue>()
  readonly globals = new Map<string, JsonValue>()
  readonly mocks = new Map<string, ManifestMock>()
  readonly testOnly: { readonly type: string; readonly span: Span }[] = []
  expected: Map<string, JsonValue> | undefined

  block(block: DecodedBlock): void {
    const [first = '', second = ''] = block.labels
    const { body } = block
    if (TEST_BLOCKS.has(block.type))
      this.testOnly.push({ type: block.type, span: block.headerSpan })
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
        return void this.globals.set(first, plainOf(body.attributes.get('value')?.value))
      case 'mock':
        return this.#mock(first, block)
      case 'test':
        this.expected = membersOf(body, 'rules')
        return
      default:
        return this.#other(block)
    }
  }

  refuse(span: Span, message: string): void {
    this.problems.push(errorAt(span, message, ''))
  }

  #policy(name: string, { body, headerSpan }: DecodedBlock): void {
    const enforcementLevel = textIn(body, 'enforcement_level') ?? 'advisory'
    if (!LEVELS.has(enforcementLevel))
      this.refuse(headerSpan, `"${enforcementLevel}" is no level: ${[...LEVELS].join(', ')} are`)
    if (this.policies.some((policy) => policy.name === name))
      this.refuse(headerSpan, `the policy "${name}" is there twice`)
    const params = body.attributes.get('params')?.value ?? null
    if (params !== null && !isObject(params))
      this.refuse(headerSpan, `the params of "${name}" must be an object`)
    this.policies.push({
      name,
      source: textIn(body, 'source'),
      enforcementLevel,
      query: textIn(body, 'query'),
      description: textIn(body, 'description'),
      params: membersOf(body, 'params'),
      span: headerSpan,
    })
  }

  #param(name: string, { body, headerSpan }: DecodedBlock): void {
    if (this.params.has(name)) this.refuse(headerSpan, `the param "${name}" is there twice`)
    this.params.set(name, plainOf(body.attributes.get('value')?.value))
  }

  #importOf(kind: string, name: string, block: DecodedBlock): void {
    if (kind === 'module') return this.#import(this.modules, name, block)
    if (kind === 'static') {
      const format = textIn(block.body, 'format') ?? 'json'
      if (format !== 'json') this.refuse(block.headerSpan, `static data is "json", not "${format}"`)
      return this.#import(this.statics, name, block)
    }
    if (kind !== 'plugin' || !STANDARD_IMPORTS.has(name))
      this.refuse(
        block.headerSpan,
        kind === 'plugin'
          ? `"${name}" is no standard import, and there are no others to be plugged in`
          : `"${kind}" is no kind of import: module and static are`,
      )
  }

  /** A standard import may not be replaced by configuration. */
  #import(into: Map<string, string>, name: string, { body, headerSpan }: DecodedBlock): void {
    const source = textIn(body, 'source')
    if (source === undefined) this.refuse(headerSpan, `"${name}" needs a source`)
    else if (STANDARD_IMPORTS.has(name))
      this.refuse(headerSpan, `"${name}" is a standard import: nothing else can have its name`)
    else if (this.modules.has(name) || this.statics.has(name))
      this.refuse(headerSpan, `"${name}" names two imports`)
    else into.set(name, source)
  }

  #mock(name: string, { body, headerSpan }: DecodedBlock): void {
    const [module] = body.blocks
    const data = body.attributes.get('data')
    if ((module === undefined) === (data === undefined))
      return this.refuse(headerSpan, `the mock "${name}" needs either data or a module`)
    if (data !== undefined) this.mocks.set(name, { kind: 'data', value: plainOf(data.value) })
    else if (module !== undefined)
      this.mocks.set(name, { kind: 'module', source: textIn(module.body, 'source') ?? '' })
  }

  #other({ type, labels, body, headerSpan }: DecodedBlock): void {
    const names = [...body.attributes.keys(), ...body.blocks.map((block) => block.type)]
    if (labels.length > 0 || names.join() !== 'features')
      this.refuse(headerSpan, `"${type}" is no block of a policy set`)
  }
}

function textIn(body: DecodedBody, name: string): string | undefined {
  const value = body.attributes.get(name)?.value
  return typeof value === 'string' ? value : undefined
}

function membersOf(body: DecodedBody, name: string): Map<string, JsonValue> {
  const value = body.attributes.get(name)?.value ?? null
  if (!isObject(value)) return new Map()
  return new Map(Object.keys(value).map((member) => [member, plainOf(getAttribute(value, member))]))
}

function plainOf(value: Value | undefined): JsonValue {
  return value === undefined ? null : parseExactJson(toJson(value))
}
