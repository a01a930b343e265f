import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Heap } from './heap.ts'

const ascending = (a: number, b: number) => a - b

test('heap: pop and peek of an empty heap are undefined', () => {
  const heap = new Heap(ascending)
  assert.equal(heap.size, 0)
  assert.equal(heap.peek(), undefined)
  assert.equal(heap.pop(), undefined)
  assert.equal(heap.size, 0)
})

test('heap: peek does not remove', () => {
  const heap = new Heap(ascending)
  heap.push(2)
  heap.push(1)
  assert.equal(heap.peek(), 1)
  assert.equal(heap.size, 2)
})

test('heap: the comparator defines the smallest item', () => {
  const heap = new Heap<string>((a, b) => b.length - a.length)
  for (const word of ['a', 'ccc', 'bb']) heap.push(word)
  assert.deepEqual([heap.pop(), heap.pop(), heap.pop(), heap.pop()], ['ccc', 'bb', 'a', undefined])
})

test('heap: behaves like a list that is sorted before each access', () => {
  const step = fc.option(fc.integer({ min: 0, max: 20 }), { nil: 'pop' as const })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const heap = new Heap(ascending)
      const model: number[] = []
      for (const one of steps) {
        if (one === 'pop') assert.equal(heap.pop(), model.shift())
        else {
          heap.push(one)
          model.push(one)
          model.sort(ascending)
        }
        assert.equal(heap.size, model.length)
        assert.equal(heap.peek(), model[0])
      }
    }),
  )
})
