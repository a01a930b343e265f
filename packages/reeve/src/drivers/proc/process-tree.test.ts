import assert from 'node:assert/strict'
import { pid, ppid } from 'node:process'
import { test } from 'node:test'
import { descendantPids, signalProcess } from './process-tree.ts'
import { isAlive, parseStat, ProcessTable, readProcess, type ProcessInfo } from './processes.ts'

function line(name: string): string {
  return `42 (${name}) S 7 40 39 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 9876 1 1 1`
}

for (const name of ['sleep', 'my program', 'a) S 1 (b', '']) {
  test(`parseStat: a process named ${JSON.stringify(name)}`, () => {
    assert.deepEqual(parseStat(line(name)), {
      pid: 42,
      parentPid: 7,
      processGroup: 40,
      sessionId: 39,
      startTime: 9876,
      isZombie: false,
    })
  })
}

for (const text of ['', '42', '42 (sh', 'x (sh) S 1 2 3', '42 (sh) S 1 2 3']) {
  test(`parseStat: ${JSON.stringify(text)} is no process`, () => {
    assert.equal(parseStat(text), undefined)
  })
}

function info(fields: Partial<ProcessInfo> & { readonly pid: number }): ProcessInfo {
  return { parentPid: 1, processGroup: 1, sessionId: 1, startTime: 100, isZombie: false, ...fields }
}

const shim = { pid: 10, startTime: 50 }
const shimRow = info({ pid: 10, parentPid: 5, sessionId: 10, startTime: 50 })
const child = info({ pid: 11, parentPid: 10, sessionId: 10 })
const grandchild = info({ pid: 12, parentPid: 11, sessionId: 12 })
const orphan = info({ pid: 13, parentPid: 1, sessionId: 10 })
const stranger = info({ pid: 14, parentPid: 1, sessionId: 14 })

const cases = [
  {
    name: 'children of children, and orphans in the same session',
    all: [shimRow, child, grandchild, orphan, stranger],
    isSessionKnown: true,
    want: [11, 12, 13],
  },
  {
    name: 'the session outlives the shim that was just there',
    all: [child, grandchild, orphan, stranger],
    isSessionKnown: true,
    want: [11, 12, 13],
  },
  {
    name: 'after a long absence a session number proves nothing',
    all: [orphan, stranger],
    isSessionKnown: false,
    want: [],
  },
  {
    name: 'another process with the number of the shim is not the shim',
    all: [
      info({ pid: 10, sessionId: 10, startTime: 999 }),
      info({ pid: 15, parentPid: 10, sessionId: 10 }),
    ],
    isSessionKnown: false,
    want: [],
  },
  {
    name: 'parents in a circle end the search too',
    all: [
      shimRow,
      info({ pid: 20, parentPid: 21, sessionId: 10 }),
      info({ pid: 21, parentPid: 20 }),
    ],
    isSessionKnown: true,
    want: [20, 21],
  },
]
for (const c of cases) {
  test(`relatives: ${c.name}`, () => {
    const found = [...descendantPids(c.all, shim, c.isSessionKnown)].toSorted((a, b) => a - b)
    assert.deepEqual(found, c.want)
  })
}

test('the table of processes has this one once, and scans are shared', async () => {
  const table = new ProcessTable()
  const [first, second] = await Promise.all([table.scan(), table.scan()])
  assert.equal(first, second)
  assert.equal(first.filter((one) => one.pid === pid).length, 1)
  assert.equal(first.find((one) => one.pid === pid)?.parentPid, ppid)
})

test('a process with another start time is a different one and is not signalled', () => {
  const own = readProcess(pid)
  assert.ok(own !== undefined)
  assert.equal(isAlive(own), true)
  const other = { pid, startTime: own.startTime + 1 }
  assert.equal(isAlive(other), false)
  assert.equal(signalProcess(other, 9), false)
})
