import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { CLEAN_EPOCH, DirtyRows, type TrackedRow } from './dirty-rows.ts'

interface Slot extends TrackedRow {
  value: number
}

/** A table that does what `Table` does with its dirty rows. */
class World {
  readonly slots = new Map<string, Slot>()
  readonly dirty = new DirtyRows((slot: Slot) => String(slot.value))

  put(key: string, value: number): void {
    const known = this.slots.get(key)
    const slot = known ?? { key, value, epoch: CLEAN_EPOCH }
    if (known === undefined) this.slots.set(key, slot)
    this.dirty.beforeWrite(slot)
    slot.value = value
  }

  remove(key: string): void {
    const slot = this.slots.get(key)
    if (slot === undefined) return
    this.dirty.beforeDelete(slot)
    this.slots.delete(key)
  }

  get rows(): Map<string, string> {
    return new Map([...this.slots].map(([key, { value }]) => [key, String(value)]))
  }
}

const steps = fc.array(
  fc.record({
    action: fc.constantFrom('put', 'put', 'put', 'remove', 'begin', 'take', 'take', 'end', 'fail'),
    key: fc.constantFrom('a', 'b', 'c', 'd'),
    value: fc.nat(),
  }),
  { maxLength: 60 },
)

test('dirty rows: a checkpoint contains the values at its start despite later writes', () => {
  fc.assert(
    fc.property(steps, (list) => {
      const world = new World()
      const stored = new Map<string, string>()
      let open:
        | { rows: Iterator<readonly [string, string | undefined]>; wanted: object }
        | undefined
      const take = (): boolean => {
        const next = open?.rows.next()
        if (next === undefined || next.done === true) return false
        const [key, words] = next.value
        if (words === undefined) stored.delete(key)
        else stored.set(key, words)
        return true
      }
      const end = (): void => {
        while (take());
        assert.deepEqual(stored, open?.wanted)
        world.dirty.endCheckpoint(true)
        open = undefined
      }
      for (const { action, key, value } of list) {
        if (action === 'put') world.put(key, value)
        else if (action === 'remove') world.remove(key)
        else if (action === 'take') take()
        else if (action === 'begin' && open === undefined) {
          const wanted = world.rows
          world.dirty.beginCheckpoint()
          open = { rows: world.dirty.rows()[Symbol.iterator](), wanted }
        } else if (action === 'end' && open !== undefined) end()
        else if (action === 'fail' && open !== undefined) {
          world.dirty.endCheckpoint(false)
          open = undefined
        }
      }
      if (open !== undefined) end()
      world.dirty.beginCheckpoint()
      open = {
        rows: world.dirty.rows()[Symbol.iterator](),
        wanted: world.rows,
      }
      end()
    }),
  )
})

test('dirty rows: a row written several times counts once', () => {
  const world = new World()
  world.put('a', 1)
  world.put('a', 2)
  world.put('b', 1)
  assert.equal(world.dirty.size, 2)
  world.dirty.beginCheckpoint()
  assert.equal(world.dirty.size, 0)
  world.dirty.endCheckpoint(true)
})
