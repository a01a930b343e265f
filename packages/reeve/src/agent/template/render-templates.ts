import { createHash } from 'node:crypto'
import type { ServiceRegistration } from '@reeve/contract'
import { errorMessage } from '@reeve/kit/fault.ts'
import {
  constantCost,
  failTemplate,
  fromPlain,
  functionTable,
  GO_FUNCTIONS,
  HELPER_FUNCTIONS,
  parseTemplate,
  renderTemplate,
  StructValue,
  TemplateError,
  type TemplateFunctions,
  type TemplateValue,
  textCost,
  timeFunctions,
} from '@reeve/go-template'
import { canonicalPath } from '../../compat/index.ts'
import { AGENT_LIMITS } from '../limits.ts'
import { newNodeAttributeLookup, type NodeInfo } from '../node-info.ts'
import type { ServiceName, VariableItems } from '../services/catalog-client.ts'
import type { Dependency } from './dependencies.ts'

export interface TemplateSource {
  /** Destination path, which identifies the template in messages. */
  readonly name: string
  readonly text: string
  readonly left: string
  readonly right: string
  readonly failsOnMissingKey: boolean
  /** The output is parsed as environment variables of the task. */
  readonly isEnvironment: boolean
}

/** Input of a rendering as plain data: it runs on another thread. */
export interface RenderRequest {
  readonly templates: readonly TemplateSource[]
  readonly env: Readonly<Record<string, string>>
  readonly node: NodeInfo
  readonly namespace: string
  readonly nowMs: number
  /** False on a node without servers. */
  readonly hasCatalog: boolean
  /** Known services and variables: JSON by dependency key. */
  readonly catalogAnswers: ReadonlyMap<string, string>
  /** Included files that were read so far; undefined if a file does not exist. */
  readonly includedFiles: ReadonlyMap<string, string | undefined>
}

export interface RenderedFile {
  readonly bytes: Uint8Array
  /** Hash of the content, to detect changes. */
  readonly contentDigest: string
}

export type RenderOutcome =
  | {
      readonly kind: 'rendered'
      /** In the order of the templates. Only valid if nothing is missing. */
      readonly files: readonly RenderedFile[]
      readonly env: Readonly<Record<string, string>>
      /** All dependencies that were used, known or not. */
      readonly dependencies: readonly Dependency[]
      readonly wantedFiles: readonly string[]
      /** Missing dependencies and files, as named in events. */
      readonly missing: readonly string[]
    }
  /** A template has a syntax error. */
  | { readonly kind: 'invalid'; readonly message: string }
  /** A template cannot be rendered with this input. */
  | { readonly kind: 'failed'; readonly message: string }

/**
 * Renders the templates of one task. Calls `begin` with the index of each template before it is
 * rendered.
 */
export function renderTemplates(
  request: RenderRequest,
  onTemplateStart: (index: number) => void,
): RenderOutcome {
  const inputs = new RecordingInputs(request)
  const functions = taskFunctions(inputs)
  const files: RenderedFile[] = []
  const env: Record<string, string> = Object.create(null)
  let current: TemplateSource | undefined
  let areAllParsed = false
  try {
    const trees = request.templates.map((template, index) => {
      current = template
      onTemplateStart(index)
      return parseTemplate(template.text, { ...template, functions })
    })
    areAllParsed = true
    let totalBytes = 0
    for (const [index, tree] of trees.entries()) {
      current = request.templates[index]
      onTemplateStart(index)
      const text = render(tree, functions, current?.failsOnMissingKey === true)
      // TextEncoder, not Buffer: a small Buffer is part of a pool, which would be copied as a
      // whole.
      const bytes = new TextEncoder().encode(text)
      totalBytes += bytes.length
      if (totalBytes > AGENT_LIMITS.templateOutputBytesMax) {
        const max = AGENT_LIMITS.templateOutputBytesMax
        failTemplate(`the templates of the task have more than ${max} bytes of output`)
      }
      // Output that lacks a dependency is not a valid environment file yet.
      if (current?.isEnvironment === true && inputs.isComplete)
        Object.assign(env, parseEnvFile(text))
      files.push({ bytes, contentDigest: digestOf(bytes) })
    }
  } catch (thrown) {
    if (!(thrown instanceof TemplateError || thrown instanceof RangeError)) throw thrown
    const message = errorMessage(thrown).slice(0, AGENT_LIMITS.eventTextCharsMax)
    return {
      kind: areAllParsed ? 'failed' : 'invalid',
      message: `${quoteName(current?.name)}: ${message}`,
    }
  }
  const { dependencies, wantedFiles, missing } = inputs
  return { kind: 'rendered', files, env: { ...env }, dependencies, wantedFiles, missing }
}

function render(
  tree: ReturnType<typeof parseTemplate>,
  functions: TemplateFunctions,
  failsOnMissingKey: boolean,
): string {
  return renderTemplate(tree, { data: new Map(), functions, failsOnMissingKey })
}

export function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('base64')
}

function quoteName(name: string | undefined): string {
  return JSON.stringify(name ?? '')
}

/** Resolves dependencies from a request, and records those that it lacks. */
class RecordingInputs implements TemplateInputs {
  readonly #request: RenderRequest
  readonly #dependencies = new Map<string, Dependency>()
  readonly #wantedFiles = new Set<string>()
  readonly #missing = new Set<string>()
  readonly #answers = new Map<string, unknown>()

  constructor(request: RenderRequest) {
    this.#request = request
  }

  get env(): Readonly<Record<string, string>> {
    return this.#request.env
  }

  get node(): NodeInfo {
    return this.#request.node
  }

  get namespace(): string {
    return this.#request.namespace
  }

  get nowMs(): number {
    return this.#request.nowMs
  }

  get dependencies(): readonly Dependency[] {
    return [...this.#dependencies.values()]
  }

  get wantedFiles(): readonly string[] {
    return [...this.#wantedFiles]
  }

  get missing(): readonly string[] {
    return [...this.#missing].toSorted((a, b) => (a < b ? -1 : 1))
  }

  get isComplete(): boolean {
    return this.#missing.size === 0 && this.#wantedFiles.size === 0
  }

  lookUp(topic: Dependency['topic'], name: string, waits: boolean): unknown {
    const key = topic === 'services' ? topic : `${topic}(${name})`
    if (!this.#request.hasCatalog) failTemplate('this node knows no services and no variables')
    this.#dependencies.set(key, { key, topic, name })
    if (this.#dependencies.size > AGENT_LIMITS.templateDependenciesMax) {
      failTemplate(
        `the task follows more than ${AGENT_LIMITS.templateDependenciesMax} services and variables`,
      )
    }
    const answer = this.#answers.get(key) ?? this.#parse(key)
    if (answer === undefined || (waits && answer === null)) this.#missing.add(key)
    return answer ?? null
  }

  /** Parses each value once: templates use the same one in loops. */
  #parse(key: string): unknown {
    const json = this.#request.catalogAnswers.get(key)
    if (json === undefined) return undefined
    const answer: unknown = JSON.parse(json)
    this.#answers.set(key, answer)
    return answer
  }

  includeFile(path: string): string | undefined {
    const { includedFiles } = this.#request
    const text = includedFiles.get(path)
    if (!includedFiles.has(path)) this.#wantedFiles.add(path)
    else if (text === undefined) this.#missing.add(`file(${path})`)
    return text
  }
}

/** Parses `KEY=value` lines. Blank lines, comments, and quotes around values are removed. */
function parseEnvFile(text: string): Readonly<Record<string, string>> {
  const charsMax = AGENT_LIMITS.interpolatedTotalCharsMax
  if (text.length > charsMax) {
    failTemplate(`an environment file has more than ${charsMax} characters, the most Linux accepts`)
  }
  const env: Record<string, string> = Object.create(null)
  let count = 0
  for (const [index, rawLine] of text.split(/\r?\n/).entries()) {
    const line = rawLine.trim().replace(/^export\s+/, '')
    if (line === '' || line.startsWith('#')) continue
    const equals = line.indexOf('=')
    const name = line.slice(0, Math.max(0, equals)).trim()
    if (!/^[^\s=\0'"]+$/.test(name)) {
      failTemplate(`line ${index + 1} of an environment file is not KEY=value`)
    }
    count += 1
    const max = AGENT_LIMITS.environmentVariablesMax
    if (count > max) failTemplate(`an environment file has more than ${max} variables`)
    env[name] = unquote(line.slice(equals + 1).trim())
  }
  return env
}

function unquote(value: string): string {
  if (/^'.*'$/s.test(value) && value.length > 1) return value.slice(1, -1)
  if (!/^".*"$/s.test(value) || value.length < 2) return value.replace(/\s+#.*$/, '')
  return value.slice(1, -1).replace(/\\([nrt"\\$])/g, (_, escaped: string) => {
    return { n: '\n', r: '\r', t: '\t' }[escaped] ?? escaped
  })
}

/** Input of template functions. */
interface TemplateInputs {
  readonly env: Readonly<Record<string, string>>
  readonly node: NodeInfo
  readonly namespace: string
  readonly nowMs: number
  /**
   * Value from the catalog in the form of its topic; null if not known yet or if a variable does
   * not exist. `waits`: the rendering requires that it exists.
   */
  lookUp(topic: Dependency['topic'], name: string, waits: boolean): unknown
  /** Content of a file in the task's directory; undefined if not known. */
  includeFile(path: string): string | undefined
}

/** All functions for templates of a task. */
export function taskFunctions(inputs: TemplateInputs): TemplateFunctions {
  const builtIns = builtInFunctions(inputs)
  return new Map([
    ...GO_FUNCTIONS,
    ...HELPER_FUNCTIONS,
    ...timeFunctions(inputs.nowMs),
    ...builtIns,
    ...aliasedFunctions(builtIns, inputs.node.aliases?.templateFunctions ?? {}),
    ...functionTable(
      DISABLED_FUNCTIONS.map((name) => [
        name,
        constantCost,
        () => failTemplate('function is disabled'),
      ]),
    ),
  ])
}

/** The same functions under the names of other template languages. */
function aliasedFunctions(
  functions: TemplateFunctions,
  names: Readonly<Record<string, string>>,
): TemplateFunctions {
  return new Map(
    Object.entries(names).flatMap(([other, name]) => {
      const aliased = functions.get(name)
      return aliased === undefined ? [] : [[other, aliased] as const]
    }),
  )
}

/** Disabled functions, which would run programs or write other files. Listed for a clear error. */
const DISABLED_FUNCTIONS = ['plugin', 'executeTemplate', 'writeToFile'] as const

function builtInFunctions(inputs: TemplateInputs): TemplateFunctions {
  const nodeValue = newNodeAttributeLookup(inputs.node)
  const variableOf = (value: TemplateValue): string | undefined => {
    const name = requireString(value)
    return Object.hasOwn(inputs.env, name) ? inputs.env[name] : nodeValue(name)
  }
  const directories = inputs.node.aliases?.variableDirectories ?? {}
  const pathOf = (value: TemplateValue): string => canonicalPath(directories, requireString(value))
  return functionTable([
    ['env', textCost, (name) => variableOf(name) ?? ''],
    ['envOrDefault', textCost, (name, fallback) => variableOf(name) || requireString(fallback)],
    [
      'mustEnv',
      textCost,
      (name) => variableOf(name) ?? failTemplate(`${requireString(name)} is not set`),
    ],
    ['file', textCost, (path) => inputs.includeFile(requireString(path)) ?? ''],
    ['service', textCost, (...args) => findServices(inputs, args)],
    ['services', constantCost, () => serviceNames(inputs)],
    ['variable', textCost, (path) => fromPlain(variableItems(inputs, pathOf(path), true) ?? {})],
    ['variableExists', textCost, (path) => variableItems(inputs, pathOf(path), false) !== null],
    [
      'variableList',
      textCost,
      (prefix) => variablePaths(inputs, prefix === undefined ? '' : pathOf(prefix)),
    ],
  ])
}

function serviceNames(inputs: TemplateInputs): TemplateValue {
  // The answer of this topic (Catalog.watchServiceNames), written and read by this program only.
  const found = inputs.lookUp('services', '', false) as readonly ServiceName[] | null
  return (found ?? []).map(({ name, tags }) => new StructValue({ Name: name, Tags: tags }))
}

function variableItems(inputs: TemplateInputs, path: string, waits: boolean): VariableItems | null {
  // The answer of this topic (Catalog.watchVariable).
  return inputs.lookUp('variable', path, waits) as VariableItems | null
}

function variablePaths(inputs: TemplateInputs, prefix: string): TemplateValue {
  // The answer of this topic (Catalog.watchVariablePaths).
  const paths = inputs.lookUp('variables', prefix, false) as readonly string[] | null
  return (paths ?? []).map((Path) => new StructValue({ Path, Namespace: inputs.namespace }))
}

function requireString(value: TemplateValue): string {
  return typeof value === 'string' ? value : failTemplate('a text is wanted')
}

/**
 * `service "name"`, `service "tag.name"`, or `service N "key" "name"`: N instances chosen by the
 * key, which stay mostly the same while instances come and go.
 */
function findServices(inputs: TemplateInputs, args: readonly TemplateValue[]): TemplateValue {
  const [first, key, last] = args
  const isSubset = args.length === 3
  if (args.length !== 1 && !isSubset) return failTemplate('expected one or three arguments')
  const query = requireString(isSubset ? last : first)
  const dot = query.lastIndexOf('.')
  const tag = dot < 0 ? undefined : query.slice(0, dot)
  const name = query.slice(dot + 1)
  // The answer of this topic (Catalog.watchService).
  const answer = inputs.lookUp('service', name, false) as readonly ServiceRegistration[] | null
  const instances = answer ?? []
  const matching = instances.filter(({ Tags }) => tag === undefined || (Tags ?? []).includes(tag))
  const sorted = matching.toSorted((a, b) => (a.ID < b.ID ? -1 : 1))
  if (!isSubset) return sorted.map(toTemplateValue)
  if (typeof first !== 'bigint') return failTemplate('the number of instances is wanted first')
  return chooseByRendezvous(sorted, requireString(key)).slice(0, Number(first)).map(toTemplateValue)
}

/** Rendezvous hashing: each instance gets a score from the key, and the highest scores win. */
function chooseByRendezvous(
  services: readonly ServiceRegistration[],
  key: string,
): readonly ServiceRegistration[] {
  const scored = services.map((service) => {
    const score = createHash('sha256').update(`${key}\0${service.ID}`).digest('hex')
    return { service, draw: score }
  })
  return scored.toSorted((a, b) => (a.draw < b.draw ? 1 : -1)).map(({ service }) => service)
}

function toTemplateValue(service: ServiceRegistration): TemplateValue {
  const { ID, ServiceName, Address, Port, Tags, JobID, AllocID, NodeID, Datacenter, Namespace } =
    service
  return new StructValue({
    ID,
    Name: ServiceName,
    Address,
    Port: BigInt(Port),
    Tags: Tags ?? [],
    JobID,
    AllocID,
    NodeID,
    Datacenter,
    Namespace,
  })
}
