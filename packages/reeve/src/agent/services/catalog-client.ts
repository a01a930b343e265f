import {
  WORKLOAD_VARIABLE_PREFIX,
  type WatchUpdateMessage,
  type WatchTopic,
  type ServiceRegistration,
} from '@reeve/contract'
import { belongsToWorkload, type Workload } from '../../model/index.ts'

/** One watched topic, shared by all templates that depend on it. */
interface CatalogSubscription {
  readonly topic: WatchTopic
  /** Subscription ID on the current channel. */
  id: number
  readonly listeners: Set<(facts: WatchUpdateMessage) => void>
  latest: WatchUpdateMessage | undefined
}

/**
 * Services and variables for templates. While no server is reachable the last value stays valid; on
 * a new channel everything is subscribed again.
 */
export class CatalogClient {
  readonly #send: (message: object) => void
  readonly #byTopic = new Map<string, CatalogSubscription>()
  readonly #byId = new Map<number, CatalogSubscription>()
  #lastId = 0

  /** `send` uses the current connection; a message without one is dropped. */
  constructor(say: (message: object) => void) {
    this.#send = say
  }

  /**
   * The catalog that one task may see. The servers only check the node: the agent enforces that a
   * task does not read variables of other jobs.
   */
  forTask(workload: Workload): ServiceCatalog {
    const isReadable = (path: string): boolean =>
      belongsToWorkload(workload, path) || !isWorkloadVariable(path)
    return {
      watchService: ({ name, ...query }, changed) =>
        this.#subscribe(query, { topic: 'service', namespace: query.namespace, name }, (facts) =>
          changed(facts.instances ?? []),
        ),
      watchServiceNames: (query, changed) =>
        this.#subscribe(query, { topic: 'services', namespace: query.namespace }, (facts) =>
          changed(facts.names ?? []),
        ),
      watchVariable: ({ path, ...query }, changed) => {
        if (!isReadable(path)) return changed(undefined)
        const topic = { topic: 'variable', namespace: query.namespace, path } as const
        this.#subscribe(query, topic, (facts) => changed(facts.items ?? undefined))
      },
      watchVariablePaths: ({ path, ...query }, changed) => {
        const topic = { topic: 'variables', namespace: query.namespace, path } as const
        this.#subscribe(query, topic, (facts) => changed((facts.paths ?? []).filter(isReadable)))
      },
    }
  }

  /** Subscribes to everything again after a server has accepted the node. */
  resubscribeAll(): void {
    this.#byId.clear()
    for (const subscription of this.#byTopic.values()) this.#requestWatch(subscription)
  }

  onFacts(facts: WatchUpdateMessage): void {
    const subscription = this.#byId.get(facts.id)
    if (subscription === undefined) return
    const hasChanged =
      JSON.stringify(withoutId(subscription.latest)) !== JSON.stringify(withoutId(facts))
    subscription.latest = facts
    // Copied: a listener added meanwhile gets the value on its own.
    const listeners = hasChanged ? [...subscription.listeners] : []
    for (const listener of listeners) listener(facts)
  }

  #subscribe(
    { signal }: CatalogWatch,
    topic: WatchTopic,
    listener: (facts: WatchUpdateMessage) => void,
  ): void {
    if (signal.aborted) return
    const topicKey = JSON.stringify(topic)
    const subscription = this.#byTopic.get(topicKey) ?? this.#addSubscription(topicKey, topic)
    subscription.listeners.add(listener)
    const { latest } = subscription
    if (latest !== undefined) listener(latest)
    const unsubscribe = (): void => {
      subscription.listeners.delete(listener)
      if (subscription.listeners.size > 0 || this.#byTopic.get(topicKey) !== subscription) return
      this.#byTopic.delete(topicKey)
      this.#byId.delete(subscription.id)
      this.#send({ kind: 'unwatch', id: subscription.id })
    }
    signal.addEventListener('abort', unsubscribe, { once: true })
  }

  #addSubscription(topicKey: string, topic: WatchTopic): CatalogSubscription {
    const subscription: CatalogSubscription = {
      topic,
      id: 0,
      listeners: new Set(),
      latest: undefined,
    }
    this.#byTopic.set(topicKey, subscription)
    this.#requestWatch(subscription)
    return subscription
  }

  #requestWatch(subscription: CatalogSubscription): void {
    this.#lastId += 1
    subscription.id = this.#lastId
    this.#byId.set(subscription.id, subscription)
    this.#send({ kind: 'watch', id: subscription.id, what: subscription.topic })
  }
}

function isWorkloadVariable(path: string): boolean {
  return path === WORKLOAD_VARIABLE_PREFIX || path.startsWith(`${WORKLOAD_VARIABLE_PREFIX}/`)
}

/** IDs differ per channel and are not part of the value. */
function withoutId(
  facts: WatchUpdateMessage | undefined,
): Omit<WatchUpdateMessage, 'id'> | undefined {
  if (facts === undefined) return undefined
  const { id: _id, ...rest } = facts
  return rest
}

/**
 * What templates read from the servers. Each watch calls back with the current value and after each
 * change, until the signal is aborted. While no server is reachable the last value stays valid.
 */
export interface ServiceCatalog {
  watchService(query: ServiceWatch, changed: (found: readonly ServiceRegistration[]) => void): void
  /** Watches every service name of a namespace, with its tags. */
  watchServiceNames(query: CatalogWatch, changed: (found: readonly ServiceName[]) => void): void
  watchVariable(query: VariableWatch, changed: (items: VariableItems | undefined) => void): void
  /** Watches the paths of variables that begin with a prefix. */
  watchVariablePaths(query: VariableWatch, changed: (paths: readonly string[]) => void): void
}

interface CatalogWatch {
  readonly namespace: string
  readonly signal: AbortSignal
}

interface ServiceWatch extends CatalogWatch {
  readonly name: string
}

interface VariableWatch extends CatalogWatch {
  readonly path: string
}

export interface ServiceName {
  readonly name: string
  readonly tags: readonly string[]
}

export type VariableItems = Readonly<Record<string, string>>
