import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { FairQueue } from './fair-queue.ts'

const LIMITS = { itemsMax: 1_000, itemsPerTenantMax: 100, quantum: 1 }

function queueOf(items: readonly (readonly [string, string, number?])[]): FairQueue<string> {
  const queue = new FairQueue<string>(LIMITS)
  for (const [tenant, item, cost] of items)
    assert.equal(queue.push(tenant, item, cost), undefined, item)
  return queue
}

const orders = [
  {
    name: 'one tenant is served in order',
    items: [
      ['a', '1'],
      ['a', '2'],
      ['a', '3'],
    ],
    order: '1 2 3',
  },
  {
    name: 'a late tenant does not wait for the backlog of another',
    items: [
      ['a', '1'],
      ['a', '2'],
      ['a', '3'],
      ['b', 'x'],
    ],
    order: '1 x 2 3',
  },
  {
    name: 'an expensive item is paid for with later turns',
    items: [
      ['a', '1', 3],
      ['a', '2'],
      ['b', 'x'],
      ['b', 'y'],
      ['b', 'z'],
      ['b', 'w'],
    ],
    order: '1 x y z 2 w',
  },
] as const

for (const { name, items, order } of orders)
  test(`fair queue: ${name}`, () => {
    assert.equal(queueOf(items).drain().join(' '), order)
  })

test('fair queue: a tenant at its limit is rejected, others are not', () => {
  const queue = new FairQueue<number>({ itemsMax: 4, itemsPerTenantMax: 2, quantum: 1 })
  assert.equal(queue.push('a', 1), undefined)
  assert.equal(queue.push('a', 2), undefined)
  assert.equal(queue.push('a', 3), 'tenant-full')
  assert.equal(queue.push('b', 4), undefined)
  assert.equal(queue.push('c', 5), undefined)
  assert.equal(queue.push('c', 6), 'full')
  assert.deepEqual([queue.size, queue.sizeOf('a'), queue.sizeOf('d')], [4, 2, 0])
})

test('fair queue: cost beyond the estimate delays only the same tenant', () => {
  const queue = queueOf([
    ['a', '1'],
    ['a', '2'],
    ['b', 'x'],
    ['b', 'y'],
    ['b', 'z'],
  ])
  assert.equal(queue.take(), '1')
  queue.charge('a', 2)
  assert.equal(queue.drain().join(' '), 'x y z 2')
})

test('fair queue: every item is served once, in the order of its tenant', () => {
  const pushes = fc.array(fc.tuple(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 1, max: 9 })))
  fc.assert(
    fc.property(pushes, fc.array(fc.boolean()), (items, takes) => {
      const queue = new FairQueue<readonly [number, number]>({ ...LIMITS, quantum: 4 })
      const out: (readonly [number, number])[] = []
      items.forEach(([tenant, cost], at) => {
        assert.equal(queue.push(String(tenant), [tenant, at], cost), undefined)
        if (takes[at] === true) out.push(queue.take() ?? [-1, -1])
      })
      out.push(...queue.drain())
      assert.equal(queue.size, 0)
      assert.equal(out.length, items.length)
      for (const [tenant] of items) {
        const ofTenant = out.filter(([owner]) => owner === tenant).map(([, at]) => at)
        assert.deepEqual(
          ofTenant,
          ofTenant.toSorted((a, b) => a - b),
        )
      }
    }),
  )
})

test('fair queue: a tenant waits for at most one turn of each other tenant', () => {
  const queue = new FairQueue<string>({ itemsMax: 10_000, itemsPerTenantMax: 1_000, quantum: 1 })
  for (let tenant = 0; tenant < 50; tenant++)
    for (let at = 0; at < 100; at++) queue.push(`busy-${tenant}`, 'busy')
  queue.push('late', 'late')
  let before = 0
  while (queue.take() !== 'late') before++
  assert.ok(before <= 50, `${before} items were served first`)
})
