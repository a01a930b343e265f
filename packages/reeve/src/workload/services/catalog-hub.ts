import type { RuleAliases } from '../../compat/index.ts'
import type { FactsMessage, ServiceRegistration, WatchTopic } from '@reeve/contract'
import type { Clock } from '@reeve/kit/clock.ts'
import { LIMITS } from '../../model/index.ts'
import { namespacedKey, wholeText, type Commit, type Store } from '../../state/index.ts'
import type { Sealer } from '../sealer.ts'
import { openItems } from '../variables/variable-items.ts'
import { WorkloadRights } from '../variables/workload-rights.ts'
import { serviceNames } from './service-names.ts'

/** A node that watches services and variables for its templates. */
export interface CatalogReader {
  readonly nodeId: string
  send(text: string): void
}

interface CatalogHubOptions {
  readonly store: Store
  readonly clock: Clock
  readonly sealer: Sealer
  /** Alternative keywords in ACL policies; none unless given. */
  readonly ruleAliases?: RuleAliases
}

interface Watch {
  readonly id: number
  readonly what: WatchTopic
  /** The last value sent, to suppress notifications without a change. */
  told: string
}

/**
 * Changes are collected for this time: a service that grows by a thousand instances causes few
 * messages.
 */
const GATHER_MS = 100
/** Maximum number of rows in one message: messages are limited, and templates need no more. */
const ROWS_MAX = 10_000

/**
 * Sends nodes the services and variables they watch, at once and after each change. A commit costs
 * only the nodes that watch what it wrote. A node receives only data that its allocations may read.
 */
export class CatalogHub {
  readonly #options: CatalogHubOptions
  readonly #rights: WorkloadRights
  readonly #watches = new Map<CatalogReader, Map<number, Watch>>()
  /** Watches by subject. */
  readonly #bySubject = new Map<string, Set<readonly [CatalogReader, Watch]>>()
  readonly #due = new Set<string>()
  readonly #unsubscribe: () => void
  #cancelTimer: (() => void) | undefined

  constructor(options: CatalogHubOptions) {
    this.#options = options
    this.#rights = new WorkloadRights(options.store.tables, options.ruleAliases)
    this.#unsubscribe = options.store.log.subscribe((commits) => this.#note(commits))
  }

  /** Starts a watch. Duplicate watches and those above the limit are ignored. */
  watch(reader: CatalogReader, id: number, what: WatchTopic): void {
    const own = this.#watches.get(reader) ?? new Map<number, Watch>()
    if (own.has(id) || own.size >= LIMITS.nodeWatchesMax) return
    const watch: Watch = { id, what, told: '' }
    this.#watches.set(reader, own.set(id, watch))
    const subject = subjectOf(what)
    const followers = this.#bySubject.get(subject) ?? new Set()
    this.#bySubject.set(subject, followers.add([reader, watch]))
    void this.#tell(reader, watch)
  }

  unwatch(reader: CatalogReader, id: number): void {
    const own = this.#watches.get(reader)
    const watch = own?.get(id)
    if (own === undefined || watch === undefined) return
    own.delete(id)
    if (own.size === 0) this.#watches.delete(reader)
    const subject = subjectOf(watch.what)
    const followers = this.#bySubject.get(subject) ?? new Set()
    for (const entry of followers) if (entry[1] === watch) followers.delete(entry)
    if (followers.size === 0) this.#bySubject.delete(subject)
  }

  /** Ends the watches of a node whose channel has closed. */
  gone(reader: CatalogReader): void {
    const ids = [...(this.#watches.get(reader)?.keys() ?? [])]
    for (const id of ids) this.unwatch(reader, id)
  }

  close(): void {
    this.#unsubscribe()
    this.#cancelTimer?.()
    this.#watches.clear()
    this.#bySubject.clear()
  }

  #note(commits: readonly Commit[]): void {
    if (this.#bySubject.size === 0) return
    for (const { rows } of commits)
      for (const { table, text } of rows)
        if (table === 'service_registrations' || table === 'variables')
          for (const subject of subjectsOf(table, wholeText(text)))
            if (this.#bySubject.has(subject)) this.#due.add(subject)
    if (this.#due.size > 0)
      this.#cancelTimer ??= this.#options.clock.after(GATHER_MS, () => this.#tellDue())
  }

  #tellDue(): void {
    this.#cancelTimer = undefined
    const due = [...this.#due]
    this.#due.clear()
    for (const subject of due)
      for (const [reader, watch] of this.#bySubject.get(subject) ?? [])
        void this.#tell(reader, watch)
  }

  async #tell(reader: CatalogReader, watch: Watch): Promise<void> {
    const { store } = this.#options
    const facts = await this.#factsFor(reader.nodeId, watch)
    const text = JSON.stringify(facts)
    try {
      // Changes are sent only once they are durable.
      await store.settled()
    } catch {
      // The storage has failed: the node watches again on another server, or on this one when it
      // recovers.
      return
    }
    if (this.#watches.get(reader)?.get(watch.id) !== watch || watch.told === text) return
    watch.told = text
    reader.send(text)
  }

  async #factsFor(nodeId: string, { id, what }: Watch): Promise<FactsMessage> {
    const { tables } = this.#options.store
    const { namespace } = what
    const kind = 'facts'
    switch (what.topic) {
      case 'service': {
        const isOpen = this.#rights.of(nodeId, namespace).runsSomething
        const group = namespacedKey(namespace, what.name)
        const rows = isOpen ? tables.service_registrations.rowsIn('service', group) : []
        return { kind, id, instances: rows.slice(0, ROWS_MAX).map(addressOf) }
      }
      case 'services':
        return { kind, id, names: await this.#names(nodeId, namespace) }
      case 'variable':
        return { kind, id, items: this.#items(nodeId, what) }
      case 'variables':
        return { kind, id, paths: this.#paths(nodeId, what) }
    }
  }

  async #names(nodeId: string, namespace: string) {
    if (!this.#rights.of(nodeId, namespace).runsSomething) return []
    const [list] = await serviceNames(this.#options.store.tables, {
      namespaces: [namespace],
      nextTurn: () => new Promise((resolve) => setImmediate(resolve)),
    })
    const names = list?.Services.map(({ ServiceName, Tags }) => ({ name: ServiceName, tags: Tags }))
    return names?.slice(0, ROWS_MAX) ?? []
  }

  #items(nodeId: string, { namespace, path }: PathTopic) {
    const { store, sealer } = this.#options
    if (!this.#rights.of(nodeId, namespace).mayRead(path)) return null
    const row = store.tables.variables.find(namespacedKey(namespace, path))
    return row === undefined ? null : openItems(sealer, row)
  }

  #paths(nodeId: string, { namespace, path }: PathTopic): readonly string[] {
    const low = namespacedKey(namespace, path)
    const rights = this.#rights.of(nodeId, namespace)
    const paths: string[] = []
    let seen = 0
    for (const key of this.#options.store.tables.variables.keys(low)) {
      if (!key.startsWith(low) || seen++ === ROWS_MAX) break
      const found = key.slice(namespace.length + 1)
      if (rights.mayRead(found)) paths.push(found)
    }
    return paths
  }
}

/** Returns the registration without its check results, which templates do not read. */
function addressOf(row: ServiceRegistration): ServiceRegistration {
  const { Checks: _checks, ...rest } = row
  return { ...rest, ModifyIndex: row.CreateIndex }
}

type PathTopic = Extract<WatchTopic, { readonly path: string }>

/**
 * Returns the key of the index of watches. Variables are indexed by namespace, because a prefix can
 * be anything.
 */
function subjectOf(what: WatchTopic): string {
  switch (what.topic) {
    case 'service':
      return `service ${namespacedKey(what.namespace, what.name)}`
    case 'variable':
      return `variable ${namespacedKey(what.namespace, what.path)}`
    default:
      return `${what.topic} ${what.namespace}`
  }
}

function subjectsOf(table: string, body: string): readonly string[] {
  // The text of a row of one of the two tables; for a deleted row its last one.
  const row = JSON.parse(body) as {
    readonly Namespace: string
    readonly ServiceName?: string
    readonly Path?: string
  } | null
  if (row === null) return []
  const namespace = row.Namespace
  return table === 'variables'
    ? [`variable ${namespacedKey(namespace, row.Path ?? '')}`, `variables ${namespace}`]
    : [`service ${namespacedKey(namespace, row.ServiceName ?? '')}`, `services ${namespace}`]
}
