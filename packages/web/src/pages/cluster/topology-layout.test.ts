import assert from 'node:assert/strict'
import { test } from 'node:test'
import { boxIndexAt, boxesBetween, computeLayout, type SizedNode } from './topology-layout.ts'

function someNodes(count: number, capacity = 100): SizedNode[] {
  return Array.from({ length: count }, (_, index) => ({ id: `n${index}`, group: 'dc1', capacity }))
}

test('a node with half the capacity is half as wide', () => {
  const nodes = [...someNodes(1, 200), ...someNodes(1, 100)]
  const { boxes } = computeLayout(nodes, 1_000)
  assert.equal(boxes[0]?.width, 2 * (boxes[1]?.width ?? 0))
})

test('what does not fit goes to the next row, and nothing overlaps or leaves the width', () => {
  const layout = computeLayout(someNodes(5_000), 1_000)
  for (const [place, box] of layout.boxes.entries()) {
    const next = layout.boxes[place + 1]
    assert.ok(box.x + box.width <= 1_000)
    if (next === undefined) continue
    assert.ok(next.y > box.y ? next.y >= box.y + layout.boxHeight : next.x >= box.x + box.width)
  }
})

test('groups stand apart, by name', () => {
  const nodes = [
    { id: 'a', group: 'south', capacity: 1 },
    { id: 'b', group: 'north', capacity: 1 },
  ]
  const { headings, boxes } = computeLayout(nodes, 500)
  assert.deepEqual(
    headings.map(({ text }) => text),
    ['north', 'south'],
  )
  assert.equal(boxes[0]?.index, 1)
})

test('only what is seen is given, and all of it', () => {
  const layout = computeLayout(someNodes(5_000), 1_000)
  const seen = boxesBetween(layout, 500, 900)
  const wanted = layout.boxes.filter(({ y }) => y + layout.boxHeight >= 500 && y <= 900)
  assert.deepEqual(seen, wanted)
  assert.ok(seen.length < 1_000)
})

test('the box under a point is found', () => {
  const layout = computeLayout(someNodes(500), 1_000)
  for (const place of [0, 7, 250, 499]) {
    const box = layout.boxes[place]
    assert.equal(boxIndexAt(layout, (box?.x ?? 0) + 1, (box?.y ?? 0) + 1), place)
  }
  assert.equal(boxIndexAt(layout, 5, 5), -1)
  assert.equal(boxIndexAt(layout, 5_000, 40), -1)
})

test('no nodes, a window without width and a node without capacity are drawn too', () => {
  assert.deepEqual(computeLayout([], 1_000).boxes, [])
  assert.equal(computeLayout(someNodes(3, 0), 0).boxes.length, 3)
})
