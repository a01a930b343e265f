import assert from 'node:assert/strict'
import { test } from 'node:test'
import { serverNotice } from './server-notice.ts'

const FULL = 'The disk that holds the data directory /data is full (while writing: ENOSPC).'
const MEMORY = "memory runs short: 81 % of the server's memory are used; delete what is not needed"
const well = { server: { ok: true, message: 'ok' } }

const cases = [
  { name: 'a healthy server', report: { health: well, skewMs: 0 }, wanted: undefined },
  {
    name: 'a disk that takes no writes',
    report: { health: { server: { ok: false, message: FULL } }, skewMs: undefined },
    wanted: ['bad', 'The server rejects changes.', FULL],
  },
  {
    name: 'memory that runs short',
    report: { health: { server: { ok: true, message: MEMORY } }, skewMs: 0 },
    wanted: ['warn', 'The server is short of memory.', MEMORY],
  },
  { name: 'clocks 10 s apart', report: { health: well, skewMs: 10_000 }, wanted: undefined },
  {
    name: 'clocks 11 s apart',
    report: { health: well, skewMs: 11_000 },
    wanted: [
      'warn',
      'The clocks of this browser and of the server are 11 s apart.',
      'Synchronize both with a time server: ages and expiries are computed from their clocks.',
    ],
  },
  {
    name: 'a client part that is not connected',
    report: { health: { ...well, client: { ok: false, message: 'no known servers' } }, skewMs: 0 },
    wanted: undefined,
  },
]

for (const { name, report, wanted } of cases)
  test(`server notice: ${name}`, () => {
    const found = serverNotice(report)
    assert.deepEqual(found && [found.tone, found.title, found.text], wanted)
  })
