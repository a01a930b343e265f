import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findRecordLockHolder } from './proc-locks.ts'

const table = `1: POSIX  ADVISORY  READ 11 fe:00:77 1073741826 1073742335
2: FLOCK  ADVISORY  WRITE 12 fe:00:500 0 EOF
3: POSIX  ADVISORY  WRITE 4242 fe:00:500 0 EOF
4: POSIX  ADVISORY  WRITE 4343 103:1f4:500 0 EOF
`
const cases = [
  { name: 'finds who locked the file', dev: 0xfe00n, ino: 500n, holder: 4242 },
  { name: 'tells devices apart', dev: 0xfd00n, ino: 500n, holder: undefined },
  { name: 'reads large device numbers', dev: 0x1103f4n, ino: 500n, holder: 4343 },
  { name: 'finds nobody for another file', dev: 0xfe00n, ino: 501n, holder: undefined },
]
for (const c of cases) {
  test(`findRecordLockHolder: ${c.name}`, () => {
    assert.equal(findRecordLockHolder(table, { dev: c.dev, ino: c.ino }), c.holder)
  })
}
