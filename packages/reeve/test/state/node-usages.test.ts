import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import {
  addToUsage,
  chargeOf,
  isClientTerminal,
  NO_USAGE,
  type AllocationRow,
} from '../../src/model/index.ts'
import { NodeUsageTracker, put, remove, type Store } from '../../src/state/index.ts'
import { anAllocation, anId } from '../build/index.ts'
import { aStore } from '../build/store.ts'

function write(store: Store, row: AllocationRow): void {
  store.commit({ by: 'system', cause: undefined, changes: () => [put('allocations', row)] })
}

function rowOn(node: number, id: number, fields: Partial<AllocationRow> = {}): AllocationRow {
  return anAllocation({ ID: anId('alloc', id), NodeID: anId('node', node), ...fields })
}

function withPort(row: AllocationRow, port: number): AllocationRow {
  const { AllocatedResources: held } = row
  const Ports = [{ Label: 'p', Value: port, To: 0, HostIP: '10.0.0.1' }]
  return { ...row, AllocatedResources: { ...held, Shared: { ...held.Shared, Ports } } }
}

test('node usages: what was there before anybody asked counts', async () => {
  const { store } = await aStore()
  write(store, rowOn(1, 1))
  const usages = new NodeUsageTracker(store)
  const slot = usages.columns.slotOf(anId('node', 1))
  assert.equal(usages.columns.cpuShares[slot], 100)
  assert.equal(usages.of(anId('node', 1)).cpuShares, 100)
  assert.deepEqual(usages.of(anId('node', 2)), NO_USAGE)
})

test('node usages: what holds particular things is marked', async () => {
  const { store } = await aStore()
  const usages = new NodeUsageTracker(store)
  const slot = usages.columns.slotOf(anId('node', 1))
  write(store, rowOn(1, 1))
  assert.equal(usages.columns.hasDiscreteUsage[slot], 0)
  write(store, withPort(rowOn(1, 2), 80))
  assert.equal(usages.columns.hasDiscreteUsage[slot], 1)
  write(store, { ...withPort(rowOn(1, 2), 80), ClientStatus: 'complete' })
  assert.equal(usages.columns.hasDiscreteUsage[slot], 0)
})

test('node usages: more nodes than the columns had room for at first', async () => {
  const { store } = await aStore()
  const usages = new NodeUsageTracker(store)
  const slots = Array.from({ length: 300 }, (_, n) => usages.columns.slotOf(anId('node', n)))
  assert.equal(new Set(slots).size, 300)
  write(store, rowOn(7, 1))
  write(store, rowOn(299, 2))
  const { memoryMB } = usages.columns
  assert.deepEqual([memoryMB[slots[7] ?? -1], memoryMB[slots[299] ?? -1]], [300, 300])
})

test('node usages: after changes were taken back everything is read anew', async () => {
  const { store } = await aStore()
  const usages = new NodeUsageTracker(store)
  const { columns } = usages
  usages.reset()
  assert.notEqual(usages.columns, columns)
})

const changes = fc.array(
  fc.record({
    id: fc.integer({ min: 1, max: 6 }),
    node: fc.integer({ min: 1, max: 3 }),
    over: fc.boolean(),
    gone: fc.constantFrom(false, false, false, true),
    port: fc.integer({ min: 1, max: 3 }),
  }),
  { maxLength: 30 },
)

test('property: columns and objects are the sums of what has not ended', async () => {
  await fc.assert(
    fc.asyncProperty(changes, async (list) => {
      const { store } = await aStore()
      const usages = new NodeUsageTracker(store)
      const rows = new Map<string, AllocationRow>()
      // A node that nobody asks for until the end, and two that are followed.
      for (const node of [1, 2]) usages.columns.slotOf(anId('node', node))
      for (const { id, node, over, gone, port } of list) {
        const ClientStatus = over ? ('complete' as const) : ('running' as const)
        const row = withPort(rowOn(node, id, { ClientStatus }), port)
        if (gone) {
          store.commit({
            by: 'system',
            cause: undefined,
            changes: () => [remove('allocations', row.ID)],
          })
          rows.delete(row.ID)
          continue
        }
        write(store, row)
        rows.set(row.ID, row)
      }
      for (const node of [1, 2, 3]) {
        const id = anId('node', node)
        const want = [...rows.values()]
          .filter((row) => row.NodeID === id && !isClientTerminal(row))
          .reduce((sum, row) => addToUsage(sum, chargeOf(row.AllocatedResources)), NO_USAGE)
        assert.deepEqual({ ...usages.of(id) }, want)
        const slot = usages.columns.slotOf(id)
        assert.equal(usages.columns.cpuShares[slot], want.cpuShares)
        assert.equal(usages.columns.memoryMB[slot], want.memoryMB)
        assert.equal(usages.columns.diskMB[slot], want.diskMB)
      }
    }),
    { numRuns: 100, seed: 3 },
  )
})
