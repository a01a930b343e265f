import { Fault } from '@reeve/kit/fault.ts'
import type { Catalog } from '../catalog.ts'
import { AGENT_LIMITS } from '../limits.ts'

/** A service or variable that a template asks for. */
export interface Dependency {
  /** As events name it: `service(db)`. */
  readonly key: string
  readonly topic: 'service' | 'services' | 'variable' | 'variables'
  /** Of a service; the path of a variable, or the prefix of several. */
  readonly name: string
}

interface DependenciesOptions {
  /** Undefined where no server is asked. */
  readonly catalog: Catalog | undefined
  readonly namespace: string
  /** An answer arrived, or changed. */
  changed(): void
}

interface Watched {
  /** The answer as JSON, `null` for a variable that does not exist; undefined: not known yet. */
  json: string | undefined
}

/**
 * The services and variables that the templates of one task follow. A rendering uses the answers
 * that are known and names what it lacks; the first mention of a dependency starts a watch.
 */
export class TemplateDependencies {
  readonly #options: DependenciesOptions
  readonly #watched = new Map<string, Watched>()
  readonly #stop = new AbortController()

  constructor(options: DependenciesOptions) {
    this.#options = options
  }

  get hasCatalog(): boolean {
    return this.#options.catalog !== undefined
  }

  /** The answers that are known, as JSON by the key of their dependency. */
  answers(): ReadonlyMap<string, string> {
    const answers = new Map<string, string>()
    for (const [key, { json }] of this.#watched) if (json !== undefined) answers.set(key, json)
    return answers
  }

  /** Starts watches for those that have none. True when one of the new ones is known at once. */
  follow(dependencies: readonly Dependency[]): boolean {
    let isAnswered = false
    for (const dependency of dependencies) {
      if (this.#watched.has(dependency.key)) continue
      if (this.#watched.size >= AGENT_LIMITS.templateFactsMax) {
        const most = AGENT_LIMITS.templateFactsMax
        throw templateFault(`the task follows more than ${most} services and variables`)
      }
      isAnswered = this.#watch(dependency) || isAnswered
    }
    return isAnswered
  }

  /** No watch outlives the task. */
  close(): void {
    this.#stop.abort()
  }

  #watch({ key, topic, name }: Dependency): boolean {
    const { catalog, namespace } = this.#options
    const { signal } = this.#stop
    const watched: Watched = { json: undefined }
    this.#watched.set(key, watched)
    const answer = (value: object | undefined): void => {
      if (signal.aborted) return
      watched.json = jsonOf(value)
      this.#options.changed()
    }
    const query = { namespace, signal }
    switch (topic) {
      case 'service':
        catalog?.watchService({ ...query, name }, answer)
        break
      case 'services':
        catalog?.watchServices(query, answer)
        break
      case 'variable':
        catalog?.watchVariable({ ...query, path: name }, answer)
        break
      case 'variables':
        catalog?.watchVariables({ ...query, path: name }, answer)
        break
    }
    return watched.json !== undefined
  }
}

/** An answer goes to every task that follows it, and is written out once. */
const written = new WeakMap<object, string>()

function jsonOf(value: object | undefined): string {
  if (value === undefined) return 'null'
  const json = written.get(value) ?? JSON.stringify(value)
  written.set(value, json)
  return json
}

/** The files of the task cannot be written; its restart policy decides what follows. */
export function templateFault(message: string, cause?: unknown): Fault {
  return new Fault('task-template', `Template failed: ${message}`, { cause })
}
