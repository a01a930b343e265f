import assert from 'node:assert/strict'
import test from 'node:test'
import { CommandError, UsageError } from './errors.ts'
import { resolveIdPrefix } from './resolve.ts'

const IDS = [
  'aabb0000-0000-4000-8000-000000000001',
  'aabc0000-0000-4000-8000-000000000002',
  'ffff0000-0000-4000-8000-000000000003',
]

async function find(given: string, ids: readonly string[] = IDS) {
  const asked: string[] = []
  const found = await resolveIdPrefix({
    noun: 'allocation',
    input: given,
    listCommand: 'reeve alloc status',
    async *search(prefix) {
      asked.push(prefix)
      yield* ids
        .filter((ID) => ID.replaceAll('-', '').startsWith(prefix))
        .map((ID) => ({ ID, Name: ID.slice(-1) }))
    },
    describe: ({ Name }) => `web[${Name}]`,
  })
  return { name: found.Name, asked }
}

const cases = [
  { name: 'the beginning', given: 'ff', finds: '3', asks: 'ff' },
  {
    name: 'an odd number of digits, of which an even one is asked for',
    given: 'fff',
    finds: '3',
    asks: 'ff',
  },
  { name: 'capital letters', given: 'FFFF', finds: '3', asks: 'ffff' },
  { name: 'a whole id', given: IDS[1] ?? '', finds: '2', asks: (IDS[1] ?? '').replaceAll('-', '') },
]

for (const { name, given, finds, asks } of cases)
  test(`find by id: ${name}`, async () => {
    assert.deepEqual(await find(given), { name: finds, asked: [asks] })
  })

test('find by id: lists the candidates of an ambiguous prefix', async () => {
  await assert.rejects(find('aab'), (thrown) => {
    assert.ok(thrown instanceof CommandError)
    assert.equal(thrown.message, 'Several allocations begin with "aab":')
    assert.match(thrown.hint ?? '', /^ {2}aabb0000-\S+ {2}web\[1\]\n {2}aabc0000-\S+ {2}web\[2\]\n/)
    return true
  })
})

test('find by id: reports a missing object and how to list them', async () => {
  await assert.rejects(find('00'), (thrown) => {
    assert.ok(thrown instanceof CommandError)
    assert.equal(thrown.message, 'There is no allocation "00".')
    assert.equal(thrown.hint, 'For a list, run "reeve alloc status".')
    return true
  })
})

for (const given of ['', 'a', 'web', 'xyz1', '0'.repeat(33), '../..'])
  test(`find by id: sends no request for "${given}"`, async () => {
    await assert.rejects(find(given), UsageError)
  })

test('find by id: does not read a long list to its end', async () => {
  let read = 0
  const search = async function* () {
    for (; read < 1_000_000; read++) {
      const tail = String(read).padStart(12, '0')
      yield { ID: `aabb0000-0000-4000-8000-${tail}` }
    }
  }
  const options = {
    noun: 'node',
    input: 'aabb',
    listCommand: 'reeve node status',
    describe: () => '',
  }
  await assert.rejects(resolveIdPrefix({ ...options, search }), CommandError)
  assert.ok(read < 20)
})
