import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decodeRow, encodeRow } from '../commit-codec.ts'
import { splitStoredRow } from '../commit.ts'
import { UNSPLIT } from './row-json.ts'
import { Table, type Undo } from './table.ts'

interface Pet {
  readonly id: string
  readonly owner: string
  readonly name: string
}

function aTable(decodedRowsMax = 3) {
  return new Table<Pet>({
    name: 'pets',
    key: (row) => row.id,
    indexes: { owner: (row) => row.owner || undefined },
    keepsCreationOrder: true,
    stamped: false,
    decodedCacheSize: decodedRowsMax,
  })
}

type Model = ReadonlyMap<string, { readonly pet: Pet; readonly createIndex: number }>

function assertEqual(table: Table<Pet>, model: Model): void {
  const ids = [...model.keys()].toSorted()
  assert.deepEqual([...table.keys()], ids)
  assert.deepEqual([...table.keys(undefined, true)], ids.toReversed())
  const byCreation = [...model.values()].toSorted(
    (a, b) => a.createIndex - b.createIndex || (a.pet.id < b.pet.id ? -1 : 1),
  )
  assert.deepEqual(
    [...table.keysByCreation()],
    byCreation.map((one) => one.pet.id),
  )
  for (const id of ids) {
    assert.deepEqual(table.get(id), model.get(id)?.pet)
    assert.equal(table.indexKeyOf('owner', id), model.get(id)?.pet.owner || undefined)
  }
  for (const owner of ['x', 'y', 'z']) {
    const owned = ids.filter((id) => model.get(id)?.pet.owner === owner)
    assert.deepEqual([...table.keysByIndex('owner', owner)].toSorted(), owned)
    assert.equal(table.countByIndex('owner', owner), owned.length)
  }
}

const step = fc.record({
  id: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
  owner: fc.constantFrom('', 'x', 'y', 'z'),
  name: fc.string(),
  deletes: fc.boolean(),
})

interface Step extends Pet {
  readonly deletes: boolean
}

interface Run {
  readonly table: Table<Pet>
  readonly model: Map<string, { pet: Pet; createIndex: number }>
}

function run({ table, model }: Run, index: number, { deletes, ...pet }: Step): Undo {
  if (deletes) {
    model.delete(pet.id)
    return table.delete(pet.id)
  }
  const createIndex = model.get(pet.id)?.createIndex ?? index
  model.set(pet.id, { pet, createIndex })
  return table.put(pet.id, {
    indexes: [createIndex, index],
    text: { ...UNSPLIT, body: JSON.stringify(pet) },
    row: pet,
  })
}

test('table: keys, orders, groups and rows are those of the writes, also after undoing some', () => {
  fc.assert(
    fc.property(fc.array(step), fc.array(step), (kept, undone) => {
      const table = aTable()
      const model = new Map<string, { pet: Pet; createIndex: number }>()
      kept.forEach((one, i) => run({ table, model }, i + 1, one))
      assertEqual(table, model)
      const doomed = new Map(model)
      const undo = undone.map((one, i) => run({ table, model: doomed }, 100 + i, one))
      assertEqual(table, doomed)
      for (const back of undo.toReversed()) back()
      assertEqual(table, model)
    }),
  )
})

test('table: index keys are recomputed for rows stored with other indexes', () => {
  const pet = { id: 'a', owner: 'x', name: 'rex' }
  const old = new Table<Pet>({
    name: 'pets',
    key: (row) => row.id,
    indexes: { name: (row) => row.name },
    keepsCreationOrder: false,
    stamped: false,
    decodedCacheSize: 3,
  })
  old.put('a', { indexes: [1, 1], text: { ...UNSPLIT, body: JSON.stringify(pet) } })
  const stored = old.findEncoded('a')
  assert.ok(stored)
  const table = aTable()
  table.load('a', stored)
  table.finishLoading()
  assert.deepEqual([...table.keysByIndex('owner', 'x')], ['a'])
})

test('table: index keys of an encoded row are computed from its JSON', () => {
  const table = aTable()
  const pet = { id: 'a', owner: 'x', name: 'rex' }
  table.put('a', { indexes: [1, 1], text: { ...UNSPLIT, body: JSON.stringify(pet) } })
  table.put('a', {
    indexes: [1, 2],
    text: { ...UNSPLIT, body: JSON.stringify({ ...pet, owner: 'y' }) },
  })
  assert.deepEqual(
    [[...table.keysByIndex('owner', 'x')], [...table.keysByIndex('owner', 'y')]],
    [[], ['a']],
  )
})

function restoredFrom(table: Table<Pet>, isHeld: boolean): Table<Pet> {
  const again = aTable()
  for (const key of table.keys()) {
    const stored = table.findEncoded(key)
    assert.ok(stored)
    const text = encodeRow(stored.header, { ...UNSPLIT, body: stored.body }).join('')
    const { header, body } = decodeRow(splitStoredRow({ table: 'pets', key, text }))
    again.load(key, { header, body: isHeld ? { text: () => stored.body } : body })
  }
  again.finishLoading()
  return again
}

test('table: a restored table is the same as the one that was written, and is written as it', () => {
  fc.assert(
    fc.property(fc.array(step), fc.array(step), fc.boolean(), (steps, undone, isHeld) => {
      const table = aTable()
      const model = new Map<string, { pet: Pet; createIndex: number }>()
      steps.forEach((one, i) => run({ table, model }, i + 1, one))
      const again = restoredFrom(table, isHeld)
      assert.deepEqual(
        [...again.keys()].map((id) => again.findEncoded(id)),
        [...table.keys()].map((id) => table.findEncoded(id)),
      )
      const later = new Map(model)
      const undo = undone.map((one, i) => run({ table: again, model: later }, 100 + i, one))
      assertEqual(again, later)
      for (const back of undo.toReversed()) back()
      assertEqual(again, model)
    }),
  )
})
