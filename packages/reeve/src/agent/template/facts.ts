import { Fault } from '../../kit/fault.ts'
import { failTemplate } from '../../lang/template/index.ts'
import type { ServiceRegistration } from '@reeve/contract'
import type { Catalog, CatalogQuery, ServiceName, VariableItems } from '../catalog.ts'
import { AGENT_LIMITS } from '../limits.ts'

interface FactsOptions {
  /** Undefined where no server is asked. */
  readonly catalog: Catalog | undefined
  readonly namespace: string
  /** Something that was asked for is known, or is known to be different. */
  changed(): void
}

/** One thing that is followed. */
interface Fact<T> {
  isKnown: boolean
  answer: T | undefined
}

type Followed<T> = Map<string, Fact<T>>

/**
 * What the templates of one task know of the world outside. Rendering asks for facts without
 * waiting: the first question begins a watch, and until it is answered the fact counts as missing,
 * and the text that was rendered without it is not used.
 */
export class Facts {
  readonly #options: FactsOptions
  readonly #service: Followed<readonly ServiceRegistration[]> = new Map()
  readonly #services: Followed<readonly ServiceName[]> = new Map()
  readonly #variable: Followed<VariableItems> = new Map()
  readonly #variables: Followed<readonly string[]> = new Map()
  readonly #missing = new Set<string>()
  readonly #stop = new AbortController()
  #count = 0

  constructor(options: FactsOptions) {
    this.#options = options
  }

  /** Begins a rendering: what it misses is collected anew. */
  begin(): void {
    this.#missing.clear()
  }

  /** What the rendering asked for and nobody has answered yet. */
  get missing(): readonly string[] {
    return [...this.#missing].toSorted((a, b) => (a < b ? -1 : 1))
  }

  /** Says that something is needed before the text can be used. */
  miss(what: string): void {
    this.#missing.add(what)
  }

  /** The instances of a service; undefined while nobody has answered, here and below. */
  service(name: string): readonly ServiceRegistration[] | undefined {
    const key = `service(${name})`
    const fact = this.#follow(this.#service, key, (catalog, query, told) => {
      catalog.watchService({ ...query, name }, told)
    })
    return fact.answer
  }

  services(): readonly ServiceName[] | undefined {
    const fact = this.#follow(this.#services, 'services', (catalog, query, told) => {
      catalog.watchServices(query, told)
    })
    return fact.answer
  }

  /** Undefined also when there is no such variable; `waits` says to wait until there is. */
  variable(path: string, { waits }: { readonly waits: boolean }): VariableItems | undefined {
    const key = `variable(${path})`
    const fact = this.#follow(this.#variable, key, (catalog, query, told) => {
      catalog.watchVariable({ ...query, path }, told)
    })
    if (waits && fact.answer === undefined) this.#missing.add(key)
    return fact.answer
  }

  variables(prefix: string): readonly string[] | undefined {
    const fact = this.#follow(this.#variables, `variables(${prefix})`, (catalog, query, told) => {
      catalog.watchVariables({ ...query, path: prefix }, told)
    })
    return fact.answer
  }

  /** No watch outlives the task. */
  close(): void {
    this.#stop.abort()
  }

  #follow<T>(followed: Followed<T>, key: string, watch: Watch<T>): Fact<T> {
    const known = followed.get(key)
    if (known !== undefined) {
      if (!known.isKnown) this.#missing.add(key)
      return known
    }
    const { catalog, namespace } = this.#options
    if (catalog === undefined) return failTemplate('this node knows no services and no variables')
    this.#count += 1
    if (this.#count > AGENT_LIMITS.templateFactsMax) {
      return failTemplate('the templates of the task follow too many things')
    }
    const fact: Fact<T> = { isKnown: false, answer: undefined }
    followed.set(key, fact)
    const { signal } = this.#stop
    watch(catalog, { namespace, signal }, (answer) => {
      if (signal.aborted) return
      fact.isKnown = true
      fact.answer = answer
      this.#options.changed()
    })
    // Who knows at once may have answered already.
    if (!fact.isKnown) this.#missing.add(key)
    return fact
  }
}

type Watch<T> = (
  catalog: Catalog,
  query: CatalogQuery,
  told: (answer: T | undefined) => void,
) => void

/** The task cannot be given its files; the restart policy decides what follows. */
export function templateFault(message: string, cause?: unknown): Fault {
  return new Fault('task-template', `Template failed: ${message}`, { cause })
}
