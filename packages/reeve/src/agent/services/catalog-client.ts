import { WORKLOAD_VARIABLE_PREFIX, type FactsMessage, type WatchTopic } from '@reeve/contract'
import { isOwnVariable, type Workload } from '../../model/index.ts'
import type { Catalog, CatalogQuery } from '../catalog.ts'

/** One thing that templates follow, however many of them do. */
interface Followed {
  readonly what: WatchTopic
  /** On the channel of the moment. */
  id: number
  readonly listeners: Set<(facts: FactsMessage) => void>
  latest: FactsMessage | undefined
}

/**
 * What templates ask the servers for. While no server answers the last state stands; a new channel
 * is asked for everything again.
 */
export class CatalogClient {
  readonly #say: (message: object) => void
  readonly #bySubject = new Map<string, Followed>()
  readonly #byId = new Map<number, Followed>()
  #lastId = 0

  /** `say` tells the server of the moment; lost when there is none. */
  constructor(say: (message: object) => void) {
    this.#say = say
  }

  /**
   * The catalogue as one task may see it. Servers know only which node asks: that a task does not
   * read what belongs to its neighbours is kept here.
   */
  forTask(workload: Workload): Catalog {
    const isOpen = (path: string): boolean => isOwnVariable(workload, path) || !isOfWorkloads(path)
    return {
      watchService: ({ name, ...query }, changed) =>
        this.#follow(query, { topic: 'service', namespace: query.namespace, name }, (facts) =>
          changed(facts.instances ?? []),
        ),
      watchServices: (query, changed) =>
        this.#follow(query, { topic: 'services', namespace: query.namespace }, (facts) =>
          changed(facts.names ?? []),
        ),
      watchVariable: ({ path, ...query }, changed) => {
        if (!isOpen(path)) return changed(undefined)
        const what = { topic: 'variable', namespace: query.namespace, path } as const
        this.#follow(query, what, (facts) => changed(facts.items ?? undefined))
      },
      watchVariables: ({ path, ...query }, changed) => {
        const what = { topic: 'variables', namespace: query.namespace, path } as const
        this.#follow(query, what, (facts) => changed((facts.paths ?? []).filter(isOpen)))
      },
    }
  }

  /** A server has let the node in: it is asked for everything. */
  welcomed(): void {
    this.#byId.clear()
    for (const followed of this.#bySubject.values()) this.#ask(followed)
  }

  received(facts: FactsMessage): void {
    const followed = this.#byId.get(facts.id)
    if (followed === undefined) return
    const isNews = JSON.stringify(bare(followed.latest)) !== JSON.stringify(bare(facts))
    followed.latest = facts
    // Those of this moment: who joins meanwhile is told by itself.
    const listeners = isNews ? [...followed.listeners] : []
    for (const listener of listeners) listener(facts)
  }

  #follow(
    { signal }: CatalogQuery,
    what: WatchTopic,
    listener: (facts: FactsMessage) => void,
  ): void {
    if (signal.aborted) return
    const subject = JSON.stringify(what)
    const followed = this.#bySubject.get(subject) ?? this.#begin(subject, what)
    followed.listeners.add(listener)
    const { latest } = followed
    if (latest !== undefined) listener(latest)
    const leave = (): void => {
      followed.listeners.delete(listener)
      if (followed.listeners.size > 0 || this.#bySubject.get(subject) !== followed) return
      this.#bySubject.delete(subject)
      this.#byId.delete(followed.id)
      this.#say({ kind: 'unwatch', id: followed.id })
    }
    signal.addEventListener('abort', leave, { once: true })
  }

  #begin(subject: string, what: WatchTopic): Followed {
    const followed: Followed = { what, id: 0, listeners: new Set(), latest: undefined }
    this.#bySubject.set(subject, followed)
    this.#ask(followed)
    return followed
  }

  #ask(followed: Followed): void {
    this.#lastId += 1
    followed.id = this.#lastId
    this.#byId.set(followed.id, followed)
    this.#say({ kind: 'watch', id: followed.id, what: followed.what })
  }
}

function isOfWorkloads(path: string): boolean {
  return path === WORKLOAD_VARIABLE_PREFIX || path.startsWith(`${WORKLOAD_VARIABLE_PREFIX}/`)
}

/** Each channel counts its ids anew; they are no part of what is known. */
function bare(facts: FactsMessage | undefined): Omit<FactsMessage, 'id'> | undefined {
  if (facts === undefined) return undefined
  const { id: _id, ...rest } = facts
  return rest
}
