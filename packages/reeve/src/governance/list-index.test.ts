import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { compareText } from '@reeve/kit/sorted-list.ts'
import type { ProjectRow } from '../model/index.ts'
import { put, remove, type Store } from '../state/index.ts'
import { aStore } from '../../test/build/store.ts'
import { ListIndex, type ListOrder, type ListSpec, type ListPageRequest } from './list-index.ts'

function aProject(id: string, name: string, organizationId = 'org-1'): ProjectRow {
  return {
    id,
    organizationId,
    name,
    description: null,
    autoDestroyActivityDuration: null,
    isDefault: false,
    createdMs: 0,
  }
}

async function anIndex(): Promise<{ store: Store; index: ListIndex<'projects'> }> {
  const { store } = await aStore()
  return { store, index: new ListIndex(store, SPEC) }
}

const SPEC: ListSpec<'projects'> = {
  table: 'projects',
  scope: (row) => row.organizationId,
  name: (row) => row.name,
}

const ORDERS: readonly ListOrder[] = ['name', '-name', 'newest', 'oldest']

/** Reference implementation of a list. */
function plainPage(
  store: Store,
  wish: ListPageRequest,
): { keys: readonly string[]; total: number } {
  const { projects } = store.tables
  const search = (wish.search ?? '').toLowerCase()
  const rows = [...projects.rows()].filter(
    (row) =>
      row.organizationId === wish.scope &&
      row.name.toLowerCase().includes(search) &&
      (wish.restrictTo === undefined || wish.restrictTo.has(row.id)),
  )
  const created = (id: string): number => projects.createIndexOf(id) ?? 0
  const byName = (a: ProjectRow, b: ProjectRow): number =>
    compareText(a.name.toLowerCase(), b.name.toLowerCase()) || compareText(a.id, b.id)
  const byTime = (a: ProjectRow, b: ProjectRow): number =>
    created(a.id) - created(b.id) || compareText(a.id, b.id)
  const sign = wish.order === '-name' || wish.order === 'newest' ? -1 : 1
  const order = wish.order.endsWith('name') ? byName : byTime
  const keys = rows.toSorted((a, b) => sign * order(a, b)).map(({ id }) => id)
  return { keys: keys.slice(wish.skip, wish.skip + wish.take), total: keys.length }
}

const anyName = fc.string({ unit: fc.constantFrom('a', 'A', 'b', 'c', ' '), maxLength: 6 })
const anyChange = fc.record({
  id: fc.integer({ min: 0, max: 40 }).map((i) => `prj-${i}`),
  scope: fc.constantFrom('org-1', 'org-2'),
  name: anyName,
  isGone: fc.boolean(),
})
type Change = typeof anyChange extends fc.Arbitrary<infer C> ? C : never
const anyWish = fc.record({
  scope: fc.constantFrom('org-1', 'org-2', 'org-3'),
  order: fc.constantFrom(...ORDERS),
  search: fc.option(anyName, { nil: undefined }),
  restrictTo: fc.option(
    fc.array(fc.integer({ min: 0, max: 40 })).map((ids) => new Set(ids.map((i) => `prj-${i}`))),
    { nil: undefined },
  ),
  skip: fc.nat(10),
  take: fc.integer({ min: 1, max: 5 }),
})

test('a page equals filtering and sorting all rows, for any sequence of writes', async () => {
  const { store, index } = await anIndex()
  fc.assert(
    fc.property(fc.array(anyChange, { maxLength: 8 }), anyWish, (changes, wish) => {
      for (const { id, scope, name, isGone } of changes)
        store.commit({
          by: 'system',
          cause: undefined,
          changes: () => [
            isGone ? remove('projects', id) : put('projects', aProject(id, name, scope)),
          ],
        })
      assert.deepEqual(index.page(wish), plainPage(store, wish))
    }),
    { numRuns: 500 },
  )
  await store.close()
})

test('existing rows are indexed in batches while others are written', async () => {
  const { store } = await aStore()
  const write = ({ id, scope, name, isGone }: Change): void => {
    const change = isGone ? remove('projects', id) : put('projects', aProject(id, name, scope))
    store.commit({ by: 'system', cause: undefined, changes: () => [change] })
  }
  fc.assert(
    fc.property(
      fc.array(anyChange, { maxLength: 30 }),
      fc.array(anyChange, { maxLength: 12 }),
      fc.array(anyWish, { minLength: 1, maxLength: 3 }),
      (before, meanwhile, wishes) => {
        before.forEach(write)
        const index = new ListIndex(store, SPEC)
        const left = meanwhile.values()
        while (!index.indexNextBatch(3)) {
          const { value } = left.next()
          if (value !== undefined) write(value)
        }
        for (const wish of wishes) assert.deepEqual(index.page(wish), plainPage(store, wish))
      },
    ),
    { numRuns: 50 },
  )
  await store.close()
})

test('a page costs its size: matching rows are scanned, not the table', async () => {
  const { store, index } = await anIndex()
  const count = 5_000
  const rows = Array.from({ length: count }, (_, i) =>
    put('projects', aProject(`p${i}`, `name ${i}x`)),
  )
  store.commit({ by: 'system', cause: undefined, changes: () => rows })
  const common = { scope: 'org-1', skip: 0, take: 20 } as const
  assert.equal(index.page({ ...common, order: 'name' }).total, count)
  assert.deepEqual(index.page({ ...common, order: 'name', search: 'NAME 4999' }).keys, ['p4999'])
  const few = new Set(['p3', 'p1', 'p2'])
  assert.deepEqual(index.page({ ...common, order: '-name', restrictTo: few }).keys, [
    'p3',
    'p2',
    'p1',
  ])
  const deep = index.page({ ...common, order: 'oldest', skip: count - 1 })
  assert.equal(deep.keys.length, 1)
  await store.close()
})
