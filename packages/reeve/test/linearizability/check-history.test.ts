import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { checkHistory, checkIndexOrder } from './check-history.ts'
import { HistoryRecorder, type Operation, type Step, type Told } from './history.ts'

const write = (value: string, expected?: number): Step => ({ kind: 'write', value, expected })
const read: Step = { kind: 'read' }
const written = (index: number): Told => ({ kind: 'written', index })
const found = (value: string, index: number): Told => ({ kind: 'found', value, index })
const conflict: Told = { kind: 'conflict' }
const absent: Told = { kind: 'absent' }
const unknown: Told = { kind: 'unknown' }

/** From when to when, what, and what was told. */
type Row = readonly [began: number, ended: number, step: Step, told: Told]

const cases: readonly { name: string; isFine: boolean; rows: readonly Row[] }[] = [
  { name: 'nothing at all', isFine: true, rows: [] },
  {
    name: 'one after the other',
    isFine: true,
    rows: [
      [1, 2, read, absent],
      [3, 4, write('a', 0), written(5)],
      [5, 6, read, found('a', 5)],
      [7, 8, write('b', 5), written(9)],
      [9, 10, write('c', 5), conflict],
    ],
  },
  {
    name: 'a read beside a write may see it or not',
    isFine: true,
    rows: [
      [1, 10, write('a', 0), written(5)],
      [2, 3, read, absent],
      [4, 5, read, found('a', 5)],
    ],
  },
  {
    name: 'a stale read',
    isFine: false,
    rows: [
      [1, 2, write('a', 0), written(5)],
      [3, 4, write('b', 5), written(6)],
      [5, 6, read, found('a', 5)],
    ],
  },
  {
    name: 'two reads beside a write that see it in the wrong order',
    isFine: false,
    rows: [
      [1, 10, write('a', 0), written(5)],
      [2, 3, read, found('a', 5)],
      [4, 5, read, absent],
    ],
  },
  {
    name: 'a lost update: acknowledged, and never seen',
    isFine: false,
    rows: [
      [1, 2, write('a', 0), written(5)],
      [3, 4, write('b', 5), written(6)],
      [5, 6, write('c', 5), written(7)],
    ],
  },
  {
    name: 'two who both win at the same index',
    isFine: false,
    rows: [
      [1, 2, write('a', 0), written(5)],
      [3, 10, write('b', 5), written(6)],
      [4, 9, write('c', 5), written(7)],
    ],
  },
  {
    name: 'two who want the same, and one wins',
    isFine: true,
    rows: [
      [1, 2, write('a', 0), written(5)],
      [3, 10, write('b', 5), conflict],
      [4, 9, write('c', 5), written(7)],
    ],
  },
  {
    name: 'a conflict without anybody who could have won',
    isFine: false,
    rows: [
      [1, 2, write('a', 0), written(5)],
      [3, 4, write('b', 5), conflict],
    ],
  },
  {
    name: 'a conflict with a write whose answer was lost',
    isFine: true,
    rows: [
      [1, 2, write('a', 0), written(5)],
      [3, Infinity, write('b', 5), unknown],
      [4, 5, write('c', 5), conflict],
    ],
  },
  {
    name: 'a write without an answer that comes to light late',
    isFine: true,
    rows: [
      [1, 2, write('a', 0), written(5)],
      [3, Infinity, write('b', 5), unknown],
      [4, 5, read, found('a', 5)],
      [6, 7, read, found('b', 6)],
    ],
  },
  {
    name: 'a write without an answer that comes and goes',
    isFine: false,
    rows: [
      [1, 2, write('a', 0), written(5)],
      [3, Infinity, write('b', 5), unknown],
      [4, 5, read, found('b', 6)],
      [6, 7, read, found('a', 5)],
    ],
  },
  {
    name: 'a write that is seen before anybody asked for it',
    isFine: false,
    rows: [
      [1, 2, read, found('a', 5)],
      [3, 4, write('a', 0), written(5)],
    ],
  },
  {
    name: 'a value that nobody wrote',
    isFine: false,
    rows: [[1, 2, read, found('a', 5)]],
  },
  {
    name: 'one value with two indexes',
    isFine: false,
    rows: [
      [1, 2, write('a', 0), written(5)],
      [3, 4, read, found('a', 6)],
    ],
  },
  {
    name: 'an index that goes back',
    isFine: false,
    rows: [
      [1, 2, write('a'), written(5)],
      [3, 4, write('b'), written(4)],
    ],
  },
  {
    name: 'writes that ask for no index, in either order',
    isFine: true,
    rows: [
      [1, 10, write('a'), written(6)],
      [2, 9, write('b'), written(5)],
      [11, 12, read, found('a', 6)],
    ],
  },
]

for (const { name, isFine, rows } of cases)
  test(`linearizability: ${name} ${isFine ? 'is fine' : 'is found out'}`, () => {
    const verdict = checkHistory(toHistory(rows))
    assert.equal(
      verdict.kind,
      isFine ? 'linearizable' : 'not-linearizable',
      JSON.stringify(verdict),
    )
  })

test('linearizability: the verdict is that of trying every order', () => {
  const outcome = { fine: 0, wrong: 0 }
  fc.assert(
    fc.property(someRows(), (rows) => {
      const history = toHistory(rows)
      const isFine = triesEveryOrder(history)
      outcome[isFine ? 'fine' : 'wrong'] += 1
      assert.equal(checkHistory(history).kind === 'linearizable', isFine)
    }),
    { numRuns: 2_000, seed: 7 },
  )
  assert.ok(outcome.fine > 100 && outcome.wrong > 100, JSON.stringify(outcome))
})

test('linearizability: what an honest register answered is fine, and one lie in it is not', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(99), { minLength: 30, maxLength: 120 }), (draws) => {
      const history = honestHistory(draws)
      assert.equal(checkHistory(history).kind, 'linearizable')
      const lied = history.findLast(({ told }) => told.kind === 'found')
      // The newest that somebody knew before it began, and something older.
      const newest = Math.max(
        ...history.map(({ told, ended }) =>
          'index' in told && ended < (lied?.began ?? 0) ? told.index : 0,
        ),
      )
      const stale = history.find(({ told }) => told.kind === 'found' && told.index < newest)
      if (lied === undefined || stale === undefined) return
      const wrong = history.map((one) => (one === lied ? { ...one, told: stale.told } : one))
      assert.equal(checkHistory(wrong).kind, 'not-linearizable')
    }),
    { numRuns: 200, seed: 11 },
  )
})

test('linearizability: a long history of many clients is decided quickly', () => {
  const draws = Array.from({ length: 20_000 }, (_, n) => (n * 7_919) % 100)
  assert.equal(checkHistory(honestHistory(draws), 100_000).kind, 'linearizable')
})

test('linearizability: a search that takes too many steps is given up and says so', () => {
  const rows: Row[] = [[1, 2, write('a', 0), written(5)]]
  assert.equal(checkHistory(toHistory(rows), 0).kind, 'undecided')
})

test('linearizability: writes of all registers have indexes in the order of time', () => {
  const one = toHistory([[1, 2, write('a', 0), written(5)]])
  const later = toHistory([[3, 4, write('b', 0), written(6)]])
  const earlier = toHistory([[3, 4, write('b', 0), written(4)]])
  const beside = toHistory([[1, 4, write('b', 0), written(4)]])
  const check = (other: readonly Operation[]): string | undefined =>
    checkIndexOrder(
      new Map([
        ['x', one],
        ['y', other],
      ]),
    )
  assert.equal(check(later), undefined)
  assert.equal(check(beside), undefined)
  assert.match(check(earlier) ?? '', /4 was given after 5/)
})

test('linearizability: the recorder numbers beginnings and ends, and keeps what it must', async () => {
  const recorder = new HistoryRecorder()
  const asked = { client: 'c', register: 'r' }
  const slow = Promise.withResolvers<Told>()
  const first = recorder.record({ ...asked, step: write('a', 0) }, () => slow.promise)
  await recorder.record({ ...asked, step: read }, async () => absent)
  await recorder.record({ ...asked, step: read }, async () => unknown)
  assert.deepEqual(
    recorder.histories.get('r')?.map(({ told }) => told.kind),
    ['unknown', 'absent'],
    'what is under way may have happened',
  )
  slow.resolve(written(5))
  await first
  const failed = recorder.record({ ...asked, step: write('b', 5) }, async () => {
    throw new Error('the connection was lost')
  })
  assert.deepEqual(await failed, unknown)
  const history = recorder.histories.get('r') ?? []
  assert.deepEqual(
    history.map(({ began, ended, told }) => [began, ended, told.kind]),
    [
      [1, 5, 'written'],
      [2, 3, 'absent'],
      [6, Infinity, 'unknown'],
    ],
  )
})

function toHistory(rows: readonly Row[]): Operation[] {
  return rows.map(([began, ended, step, told], n) => ({
    client: `c${n}`,
    began,
    ended,
    step,
    told,
  }))
}

/** Few operations on few values and indexes, most of them impossible together. */
function someRows(): fc.Arbitrary<readonly Row[]> {
  const expected = fc.option(fc.integer({ min: 0, max: 3 }), { nil: undefined })
  const outcome = fc.constantFrom<'written' | 'conflict' | 'unknown'>(
    'written',
    'written',
    'conflict',
    'unknown',
  )
  const aWrite = fc.record({ expected, outcome })
  const aRead = fc.record({ seen: fc.nat(4) })
  const times = fc.record({ began: fc.nat(20), lasts: fc.nat(8) })
  const one = fc.tuple(times, fc.oneof(aWrite, aRead))
  return fc.array(one, { maxLength: 6 }).map((list) =>
    list.map(([{ began, lasts }, what], n): Row => {
      // Odd and even, so that no two moments are the same.
      const from = began * 20 + n * 2
      const to = from + lasts * 20 + 1
      const index = n + 1
      if ('seen' in what) {
        const { seen } = what
        return [from, to, read, seen === 0 ? absent : found(`v${seen}`, seen)]
      }
      const step = write(`v${index}`, what.expected)
      if (what.outcome === 'unknown') return [from, Infinity, step, unknown]
      return [from, to, step, what.outcome === 'conflict' ? conflict : written(index)]
    }),
  )
}

/** As simple as it can be said; for short histories. */
function triesEveryOrder(history: readonly Operation[]): boolean {
  const indexes = new Map<string, number>()
  for (const { step, told } of history) {
    if (told.kind === 'found') indexes.set(told.value, told.index)
    if (told.kind === 'written' && step.kind === 'write') indexes.set(step.value, told.index)
  }
  const goesOn = (left: readonly Operation[], value: string): boolean => {
    if (left.every(({ told }) => told.kind === 'unknown')) return true
    return left.some((one) => {
      if (left.some((other) => other !== one && other.ended < one.began)) return false
      const after = lives(one, value, indexes)
      return (
        after !== undefined &&
        goesOn(
          left.filter((other) => other !== one),
          after,
        )
      )
    })
  }
  return goesOn(history, '')
}

function lives(
  { step, told }: Operation,
  value: string,
  indexes: ReadonlyMap<string, number>,
): string | undefined {
  const index = value === '' ? 0 : (indexes.get(value) ?? -1)
  if (step.kind === 'read') {
    const seen = told.kind === 'found' ? told.value : ''
    return seen === value ? value : undefined
  }
  const fits = step.expected === undefined || step.expected === index
  if (told.kind === 'conflict') return fits ? undefined : value
  if (!fits || (indexes.get(step.value) ?? Infinity) <= index) return undefined
  return step.value
}

interface UnderWay {
  readonly began: number
  readonly step: Step
  told: Told | undefined
}

/** Five clients and a register that does one thing at a time, somewhere while each waits. */
function honestHistory(draws: readonly number[]): Operation[] {
  const history: Operation[] = []
  const underWay = new Map<number, UnderWay>()
  const knows = [0, 0, 0, 0, 0]
  let [clock, index, held, count] = [0, 0, '', 0]
  const answer = (step: Step): Told => {
    if (step.kind === 'read') return held === '' ? absent : found(held, index)
    if (step.expected !== index) return conflict
    index += 2
    held = step.value
    return written(index)
  }
  const end = (client: number, { began, step }: UnderWay, told: Told): void => {
    underWay.delete(client)
    const ended = told.kind === 'unknown' ? Infinity : ++clock
    history.push({ client: `c${client}`, step, told, began, ended })
  }
  for (const draw of draws) {
    const client = draw % 5
    const mine = underWay.get(client)
    if (mine === undefined) {
      const step = draw % 3 === 0 ? write(`v${++count}`, knows[client]) : read
      underWay.set(client, { began: ++clock, step, told: undefined })
    } else if (mine.told === undefined) mine.told = answer(mine.step)
    else if (mine.step.kind === 'write' && draw % 7 === 0) end(client, mine, unknown)
    else {
      if ('index' in mine.told) knows[client] = mine.told.index
      end(client, mine, mine.told)
    }
  }
  for (const [client, mine] of underWay) if (mine.step.kind === 'write') end(client, mine, unknown)
  return history
}
