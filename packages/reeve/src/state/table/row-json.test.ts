import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import {
  pushRowJson,
  encodeSplitRow,
  joinRowJson,
  type RowSplit,
  type EncodedRow,
} from './row-json.ts'

interface Work {
  readonly job: string
  readonly id: string
  readonly group?: unknown
  readonly node?: string
  readonly status?: string
  readonly states?: unknown
}

const PIECES: RowSplit<Work> = {
  common: ({ job, group }) => ({ job, group }),
  agreeInCommon: (a, b) => a.job === b.job && a.group === b.group,
  steady: ({ id, node }) => ({ id, node }),
  agreeInSteady: (a, b) => a.id === b.id && a.node === b.node,
  rest: ({ status, states }) => ({ status, states }),
}

const fields = fc.record(
  {
    group: fc.option(fc.string()),
    node: fc.string(),
    status: fc.string(),
    states: fc.dictionary(fc.string(), fc.jsonValue()),
  },
  { requiredKeys: [] },
)
const rows = fc.record({ job: fc.constantFrom('a', '{"'), id: fc.string(), rest: fields })

test('row JSON: the parts of a row join to its JSON', () => {
  fc.assert(
    fc.property(fc.array(rows), (all) => {
      let last: EncodedRow<Work> | undefined
      for (const { job, id, rest } of all) {
        const row = { ...rest, job, id }
        const text = encodeSplitRow(row, PIECES, { neighbour: last })
        assert.deepEqual(JSON.parse(joinRowJson(text)), JSON.parse(JSON.stringify(row)))
        const parts: string[] = []
        pushRowJson(parts, text)
        assert.equal(parts.join(''), joinRowJson(text))
        last = { row, text }
      }
    }),
    { seed: 1 },
  )
})

test('row JSON: parts are reused only from rows with identical values', () => {
  const resources = { cpu: 1 }
  const row = { job: 'a', group: resources, id: '1', node: 'n', status: 'pending' }
  const known = { row, text: encodeSplitRow(row, PIECES, {}) }
  const marked = { row, text: { ...known.text, common: '{"marked":1}', steady: '{"marked":2}' } }
  const textOf = (changed: object) =>
    encodeSplitRow({ ...row, ...changed }, PIECES, { previous: marked, neighbour: marked })
  assert.equal(textOf({ status: 'running' }).common, '{"marked":1}')
  assert.equal(textOf({ status: 'running' }).steady, '{"marked":2}')
  assert.equal(textOf({ id: '2' }).common, '{"marked":1}')
  assert.equal(textOf({ id: '2' }).steady, '{"id":"2","node":"n"}')
  // An equal object that is another one is not looked into.
  assert.equal(textOf({ group: { cpu: 1 } }).common, '{"job":"a","group":{"cpu":1}}')
})

test('row JSON: an unsplit row stays unsplit', () => {
  assert.equal(joinRowJson({ common: '', steady: '', body: '{"a":1}' }), '{"a":1}')
})
