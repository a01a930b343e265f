import { Fault } from '@reeve/kit/fault.ts'
import type { ServiceCatalog } from '../services/catalog-client.ts'
import { AGENT_LIMITS } from '../limits.ts'

/** A service or variable that a template asks for. */
export interface Dependency {
  /** Name in events: `service(db)`. */
  readonly key: string
  readonly topic: 'service' | 'services' | 'variable' | 'variables'
  /** Name of a service, path of a variable, or prefix of several variables. */
  readonly name: string
}

interface DependenciesOptions {
  /** Undefined if no server is used. */
  readonly catalog: ServiceCatalog | undefined
  readonly namespace: string
  /** Called when a value arrived or changed. */
  onChange(): void
}

interface WatchedDependency {
  /** The value as JSON, `null` for a variable that does not exist; undefined if not known yet. */
  json: string | undefined
}

/**
 * Services and variables that the templates of one task depend on. A rendering uses the known
 * values and reports missing ones; the first use of a dependency starts a watch.
 */
export class TemplateDependencies {
  readonly #options: DependenciesOptions
  readonly #watched = new Map<string, WatchedDependency>()
  readonly #stopped = new AbortController()

  constructor(options: DependenciesOptions) {
    this.#options = options
  }

  get hasCatalog(): boolean {
    return this.#options.catalog !== undefined
  }

  /** Known values as JSON by dependency key. */
  answers(): ReadonlyMap<string, string> {
    const answers = new Map<string, string>()
    for (const [key, { json }] of this.#watched) if (json !== undefined) answers.set(key, json)
    return answers
  }

  /**
   * Starts watches for new dependencies. Returns true if a value of one is available immediately.
   */
  follow(dependencies: readonly Dependency[]): boolean {
    let isAnswered = false
    for (const dependency of dependencies) {
      if (this.#watched.has(dependency.key)) continue
      if (this.#watched.size >= AGENT_LIMITS.templateDependenciesMax) {
        const max = AGENT_LIMITS.templateDependenciesMax
        throw templateFault(`the task follows more than ${max} services and variables`)
      }
      isAnswered = this.#watch(dependency) || isAnswered
    }
    return isAnswered
  }

  /** Stops all watches. */
  close(): void {
    this.#stopped.abort()
  }

  #watch({ key, topic, name }: Dependency): boolean {
    const { catalog, namespace } = this.#options
    const { signal } = this.#stopped
    const watched: WatchedDependency = { json: undefined }
    this.#watched.set(key, watched)
    const onAnswer = (value: object | undefined): void => {
      if (signal.aborted) return
      watched.json = cachedJson(value)
      this.#options.onChange()
    }
    const query = { namespace, signal }
    switch (topic) {
      case 'service':
        catalog?.watchService({ ...query, name }, onAnswer)
        break
      case 'services':
        catalog?.watchServiceNames(query, onAnswer)
        break
      case 'variable':
        catalog?.watchVariable({ ...query, path: name }, onAnswer)
        break
      case 'variables':
        catalog?.watchVariablePaths({ ...query, path: name }, onAnswer)
        break
    }
    return watched.json !== undefined
  }
}

/** Values are shared by all tasks that depend on them and serialized once. */
const jsonByAnswer = new WeakMap<object, string>()

function cachedJson(value: object | undefined): string {
  if (value === undefined) return 'null'
  const json = jsonByAnswer.get(value) ?? JSON.stringify(value)
  jsonByAnswer.set(value, json)
  return json
}

/** The files of the task cannot be rendered; its restart policy applies. */
export function templateFault(message: string, cause?: unknown): Fault {
  return new Fault('task-template', `Template failed: ${message}`, { cause })
}
