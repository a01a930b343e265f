import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NodeMetadata } from './local-node.ts'

type Kept = Readonly<Record<string, string | null>>

function metadata(configured: Readonly<Record<string, string>> = { rack: 'r1' }) {
  const kept: Kept[] = []
  let changes = 0
  const meta = new NodeMetadata({
    configured,
    store: async (dynamic) => void kept.push(dynamic),
    onChange: () => void changes++,
  })
  return { meta, kept, changes: () => changes }
}

test('node metadata: requests override the configuration; changes are stored and sent', async () => {
  const { meta, kept, changes } = metadata()
  const read = await meta.apply({ color: 'blue', rack: 'r2' })
  assert.deepEqual(read, {
    Meta: { rack: 'r2', color: 'blue' },
    Dynamic: { color: 'blue', rack: 'r2' },
    Static: { rack: 'r1' },
  })
  assert.deepEqual([kept, changes()], [[{ color: 'blue', rack: 'r2' }], 1])
})

test('node metadata: null removes a value, and hides one of the configuration', async () => {
  const { meta } = metadata()
  await meta.apply({ color: 'blue' })
  const read = await meta.apply({ color: null, rack: null, other: null })
  assert.deepEqual([read.Meta, read.Dynamic], [{}, { rack: null }])
})

test('node metadata: survives a restart of the agent', () => {
  const { meta } = metadata()
  meta.restore({ rack: null, color: 'red' })
  assert.deepEqual(meta.effectiveValues(), { color: 'red' })
})

const wrong = [
  { name: 'a name with spaces', changes: { 'a b': 'x' }, text: /no spaces/ },
  { name: 'a value of two lines', changes: { a: 'x\ny' }, text: /metadata a: a value is one line/ },
  {
    name: 'too many',
    changes: Object.fromEntries(Array.from({ length: 257 }, (_, i) => [`n${i}`, 'x'])),
    text: /at most 256 values/,
  },
]
for (const { name, changes, text } of wrong)
  test(`node metadata: ${name} is refused, and nothing is kept`, async () => {
    const { meta, kept } = metadata()
    await assert.rejects(meta.apply(changes), { status: 400, message: text })
    assert.deepEqual(kept, [])
  })
