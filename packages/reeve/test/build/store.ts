import type { Namespace } from '@reeve/contract'
import { put, Store, type Cause } from '../../src/state/index.ts'
import { MemoryDisk, openMemoryEngine } from '../../src/storage/index.ts'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'

/** An open store over memory, with a clock that moves only when told. */
export async function aStore(disk = new MemoryDisk()) {
  const engine = openMemoryEngine({ disk })
  const clock = new SimulatedClock()
  const store = await Store.open({ engine, clock, freezeRows: true })
  return { disk, engine, clock, store }
}

export function aNamespace(name: string, description = ''): Namespace {
  return {
    Name: name,
    Description: description,
    Quota: '',
    Capabilities: null,
    NodePoolConfiguration: null,
    Meta: null,
    Hash: '',
    CreateIndex: 0,
    ModifyIndex: 0,
  }
}

/** Commits namespaces; they emit no events, whatever the cause. */
export function write(store: Store, rows: readonly Namespace[], cause?: Cause) {
  return store.commit({
    by: 'system',
    cause,
    changes: () => rows.map((row) => put('namespaces', row)),
  })
}

/** Lets promises that are already settled run their continuations. */
export async function turn(): Promise<void> {
  for (let i = 0; i < 50; i++) await Promise.resolve()
}
