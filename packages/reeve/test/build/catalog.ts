import type { ServiceRegistration } from '@reeve/contract'
import type {
  ServiceCatalog,
  ServiceName,
  VariableItems,
} from '../../src/agent/services/catalog-client.ts'

/** A catalog in memory: tells each watcher what is there, and again when it is set. */
export class FakeCatalog implements ServiceCatalog {
  readonly services = new Slot<readonly ServiceRegistration[]>()
  readonly names = new Slot<readonly ServiceName[]>()
  readonly variables = new Slot<VariableItems>()
  readonly lists = new Slot<readonly string[]>()

  watchService: ServiceCatalog['watchService'] = ({ name, signal }, changed) => {
    this.services.watch(name, signal, (found) => changed(found ?? []))
  }

  watchServiceNames: ServiceCatalog['watchServiceNames'] = ({ signal }, changed) => {
    this.names.watch('', signal, (found) => changed(found ?? []))
  }

  watchVariable: ServiceCatalog['watchVariable'] = ({ path, signal }, changed) => {
    this.variables.watch(path, signal, changed)
  }

  watchVariablePaths: ServiceCatalog['watchVariablePaths'] = ({ path, signal }, changed) => {
    this.lists.watch(path, signal, (found) => changed(found ?? []))
  }
}

type Watcher<T> = (value: T | undefined) => void

class Slot<T> {
  readonly #values = new Map<string, T | undefined>()
  readonly #watchers = new Map<string, Set<Watcher<T>>>()

  set(key: string, value: T | undefined): void {
    this.#values.set(key, value)
    for (const watcher of this.#watchers.get(key) ?? []) watcher(value)
  }

  /** How many follow a key right now. */
  count(key: string): number {
    return this.#watchers.get(key)?.size ?? 0
  }

  watch(key: string, signal: AbortSignal, watcher: Watcher<T>): void {
    const watchers = this.#watchers.get(key) ?? new Set()
    this.#watchers.set(key, watchers.add(watcher))
    signal.addEventListener('abort', () => watchers.delete(watcher), { once: true })
    if (this.#values.has(key)) watcher(this.#values.get(key))
  }
}

/** One instance of a service. */
export function aService(fields: Partial<ServiceRegistration> = {}): ServiceRegistration {
  return {
    ID: 'id-1',
    ServiceName: 'db',
    Namespace: 'default',
    NodeID: 'node-1',
    Datacenter: 'dc1',
    JobID: 'job',
    AllocID: 'alloc-1',
    Tags: [],
    Address: '10.0.0.1',
    Port: 5432,
    CreateIndex: 1,
    ModifyIndex: 1,
    ...fields,
  }
}
