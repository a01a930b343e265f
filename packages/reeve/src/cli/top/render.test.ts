import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { noPaint } from '../output/color.ts'
import type { AllocationRow, ClusterView, NodeRow } from './cluster.ts'
import { renderScreen, stripControlCharacters } from './render.ts'

function aNodeRow(n: number): NodeRow {
  return {
    ID: `node-${n}`,
    Name: `node-${n}`,
    Status: 'ready',
    Allocations: 1,
    CPU: { Capacity: 1000, Allocated: 950, InUse: 500 },
    Memory: { Capacity: 2000, Allocated: 1, InUse: null },
  }
}

function anAllocationRow(n: number): AllocationRow {
  return {
    ID: `alloc-${n}`,
    Namespace: 'default',
    JobID: 'web',
    TaskGroup: 'app',
    NodeName: 'node-0',
    Status: 'running',
    CreateTime: 0,
    CPU: { Allocated: 50, InUse: 12.4 },
    Memory: { Allocated: 32, InUse: null },
  }
}

function aCluster(nodes: number, allocations: number): ClusterView {
  const Share = { Capacity: 0, Allocated: 0, InUse: null }
  return {
    Address: 'http://127.0.0.1:4646',
    Totals: { Nodes: {}, Jobs: {}, Allocations: {}, CPU: Share, Memory: Share },
    Nodes: Array.from({ length: nodes }, (_, n) => aNodeRow(n)),
    Allocations: Array.from({ length: allocations }, (_, n) => anAllocationRow(n)),
    HasMore: false,
  }
}

const still = { events: [], errorMessage: '', nowMs: 5_000, paint: noPaint }

test('top: a picture shows what is given away, what is in use, and what is not known', () => {
  const cluster = aCluster(1, 1)
  assert.deepEqual(renderScreen({ ...still, cluster, selectedId: 'node-0', rows: Infinity }), [
    'Reeve  http://127.0.0.1:4646',
    'Nodes none   Jobs none   Allocations none',
    'CPU ░░░░░░░░░░ 0 of 0 MHz allocated   Memory ░░░░░░░░░░ 0 of 0 MB allocated',
    '',
    '  Node    Status  Allocs  CPU               in use  Memory           in use',
    '> node-0  ready   1       ██████████  95 %  50 %    █░░░░░░░░░  0 %  -',
    '',
    '  Allocation  Job  Group  Node    Status   CPU MHz   Memory MB  Age',
    '  alloc-0     web  app    node-0  running  12 of 50  - of 32    5s',
    '',
  ])
})

test('top: a picture is as high as the screen, and what is chosen is on it', () => {
  const count = fc.nat({ max: 60 })
  fc.assert(
    fc.property(
      fc.tuple(count, count),
      fc.integer({ min: 16, max: 80 }),
      fc.nat(),
      (sizes, rows, at) => {
        const cluster = aCluster(...sizes)
        const ids = [...cluster.Nodes, ...cluster.Allocations].map(({ ID }) => ID)
        const chosen = ids[at % Math.max(1, ids.length)]
        const lines = renderScreen({ ...still, cluster, selectedId: chosen, rows })
        assert.equal(lines.length, rows)
        if (chosen !== undefined)
          assert.equal(lines.filter((line) => line.startsWith(`> ${chosen} `)).length, 1)
      },
    ),
  )
})

test('top: a screen reports omitted rows, and a failure in place of the keys', () => {
  const lines = renderScreen({
    ...still,
    cluster: aCluster(40, 0),
    selectedId: undefined,
    errorMessage: 'Gone.',
    rows: 24,
  })
  assert.match(lines.join('\n'), /Memory +in use +\(4 of 40\)\n/)
  assert.equal(lines.at(-1), 'Gone.')
})

const texts = [
  { name: 'colours pass', text: '\u001b[31mred\u001b[0m', shown: '\u001b[31mred\u001b[0m' },
  { name: 'the screen is not cleared', text: 'a\u001b[2Jb', shown: 'a [2Jb' },
  { name: 'nothing is written over', text: 'a\rb\bc\u009bd', shown: 'a b c d' },
  { name: 'no title is set', text: '\u001b]0;x\u0007', shown: ' ]0;x ' },
]
for (const { name, text, shown } of texts) {
  test(`top: text of tasks is harmless: ${name}`, () =>
    assert.equal(stripControlCharacters(text), shown))
}
