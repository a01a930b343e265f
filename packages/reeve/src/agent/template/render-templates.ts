import { createHash } from 'node:crypto'
import { errorMessage } from '@reeve/kit/fault.ts'
import {
  failTemplate,
  parseTemplate,
  renderTemplate,
  TemplateError,
  type TemplateFunctions,
} from '@reeve/go-template'
import { AGENT_LIMITS } from '../limits.ts'
import type { NodeFacts } from '../node-facts.ts'
import type { Dependency } from './dependencies.ts'
import { parseEnvFile } from './env-file.ts'
import { taskFunctions, type TemplateInputs } from './task-functions.ts'

export interface TemplateSource {
  /** The destination, which names the template in messages. */
  readonly name: string
  readonly text: string
  readonly left: string
  readonly right: string
  readonly failsOnMissingKey: boolean
  /** The output is read as variables of the task. */
  readonly isEnvironment: boolean
}

/** All that a rendering may use, as plain data: it happens on another thread. */
export interface RenderRequest {
  readonly templates: readonly TemplateSource[]
  readonly env: Readonly<Record<string, string>>
  readonly node: NodeFacts
  readonly namespace: string
  readonly nowMs: number
  /** False on a node that asks no server. */
  readonly hasCatalog: boolean
  /** What is known of services and variables: JSON by the key of the dependency. */
  readonly answers: ReadonlyMap<string, string>
  /** Files that were asked for before; undefined: there is no such file. */
  readonly files: ReadonlyMap<string, string | undefined>
}

export interface RenderedFile {
  readonly bytes: Uint8Array
  /** Tells whether the content is a new one. */
  readonly digest: string
}

export type RenderOutcome =
  | {
      readonly kind: 'rendered'
      /** In the order of the templates. To be used only when nothing is missing. */
      readonly files: readonly RenderedFile[]
      readonly env: Readonly<Record<string, string>>
      /** Everything that was asked for, known or not. */
      readonly dependencies: readonly Dependency[]
      readonly wantedFiles: readonly string[]
      /** What has to be there before the files can be used, as events name it. */
      readonly missing: readonly string[]
    }
  /** A template cannot be parsed, now or later. */
  | { readonly kind: 'invalid'; readonly message: string }
  /** A template cannot be rendered with these inputs. */
  | { readonly kind: 'failed'; readonly message: string }

/** Renders the templates of one task. `begin` is told the index of each before it is rendered. */
export function renderTemplates(
  request: RenderRequest,
  begin: (index: number) => void,
): RenderOutcome {
  const inputs = new RequestInputs(request)
  const functions = taskFunctions(inputs)
  const files: RenderedFile[] = []
  const env: Record<string, string> = Object.create(null)
  let at: TemplateSource | undefined
  let isParsed = false
  try {
    const trees = request.templates.map((template, index) => {
      at = template
      begin(index)
      return parseTemplate(template.text, { ...template, functions })
    })
    isParsed = true
    let bytesTotal = 0
    for (const [index, tree] of trees.entries()) {
      at = request.templates[index]
      begin(index)
      const text = render(tree, functions, at?.failsOnMissingKey === true)
      // Not a Buffer: a small one is a part of a larger memory, all of which would be copied.
      const bytes = new TextEncoder().encode(text)
      bytesTotal += bytes.length
      if (bytesTotal > AGENT_LIMITS.templateOutputBytesMax) {
        const most = AGENT_LIMITS.templateOutputBytesMax
        failTemplate(`the templates of the task have more than ${most} bytes of output`)
      }
      // What lacks a dependency is no environment file yet.
      if (at?.isEnvironment === true && inputs.isComplete) Object.assign(env, parseEnvFile(text))
      files.push({ bytes, digest: digestOf(bytes) })
    }
  } catch (thrown) {
    if (!(thrown instanceof TemplateError || thrown instanceof RangeError)) throw thrown
    const message = errorMessage(thrown).slice(0, AGENT_LIMITS.eventTextCharsMax)
    return { kind: isParsed ? 'failed' : 'invalid', message: `${quote(at?.name)}: ${message}` }
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

function quote(name: string | undefined): string {
  return JSON.stringify(name ?? '')
}

/** Answers what templates ask for from a request, and collects what it does not hold. */
class RequestInputs implements TemplateInputs {
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

  get node(): NodeFacts {
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

  find(topic: Dependency['topic'], name: string, waits: boolean): unknown {
    const key = topic === 'services' ? topic : `${topic}(${name})`
    if (!this.#request.hasCatalog) failTemplate('this node knows no services and no variables')
    this.#dependencies.set(key, { key, topic, name })
    if (this.#dependencies.size > AGENT_LIMITS.templateFactsMax) {
      failTemplate(
        `the task follows more than ${AGENT_LIMITS.templateFactsMax} services and variables`,
      )
    }
    const answer = this.#answers.get(key) ?? this.#parse(key)
    if (answer === undefined || (waits && answer === null)) this.#missing.add(key)
    return answer ?? null
  }

  /** Templates ask for the same thing in loops: each answer is parsed once. */
  #parse(key: string): unknown {
    const json = this.#request.answers.get(key)
    if (json === undefined) return undefined
    const answer: unknown = JSON.parse(json)
    this.#answers.set(key, answer)
    return answer
  }

  file(path: string): string | undefined {
    const { files } = this.#request
    const text = files.get(path)
    if (!files.has(path)) this.#wantedFiles.add(path)
    else if (text === undefined) this.#missing.add(`file(${path})`)
    return text
  }
}
