import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fault } from '@reeve/kit/fault.ts'
import { toStorageFault } from './storage-faults.ts'

const cases = [
  { name: 'a full disk, by code', thrown: coded('ENOSPC', 'write'), kind: 'storage-full' },
  {
    name: 'a full disk, by the sentence of the system',
    thrown: coded('LEVEL_IO_ERROR', 'IO error: /d/000003.log: No space left on device'),
    kind: 'storage-full',
  },
  {
    name: 'an exceeded quota',
    thrown: coded('LEVEL_IO_ERROR', 'IO error: /d/000003.log: Disk quota exceeded'),
    kind: 'storage-full',
  },
  {
    name: 'a missing right',
    thrown: coded('LEVEL_IO_ERROR', 'IO error: /d/LOCK: Permission denied'),
    kind: 'storage-unwritable',
  },
  { name: 'a read-only disk', thrown: coded('EROFS', 'open'), kind: 'storage-read-only' },
  {
    name: 'a lock',
    thrown: coded('LEVEL_LOCKED', 'IO error: lock /d/LOCK'),
    kind: 'storage-locked',
  },
  { name: 'damage', thrown: coded('LEVEL_CORRUPTION', 'Corruption: x'), kind: 'storage-corrupt' },
  {
    name: 'what the library wrapped',
    thrown: coded('LEVEL_DATABASE_NOT_OPEN', 'not open', coded('LEVEL_LOCKED', 'lock')),
    kind: 'storage-locked',
  },
  { name: 'a broken disk', thrown: coded('EIO', 'i/o error'), kind: 'storage-failed' },
  { name: 'anything else', thrown: 'text', kind: 'storage-failed' },
]
for (const c of cases) {
  test(`${c.name} becomes ${c.kind}, with the directory and the next step`, () => {
    const fault = toStorageFault(c.thrown, '/data', 'writing')
    assert.equal(fault.kind, c.kind)
    assert.match(fault.message, /^The .*\/data .*while writing.*\. [A-Z].*\.$/)
    assert.equal(fault.cause, c.thrown)
  })
}

test('a fault stays what it is', () => {
  const fault = new Fault('storage-closed', 'closed')
  assert.equal(toStorageFault(fault, '/data', 'writing'), fault)
})

function coded(code: string, message: string, cause?: Error): Error {
  return Object.assign(new Error(message, { cause }), { code })
}
