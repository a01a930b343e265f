import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { test } from 'node:test'
import { HostData } from '@reeve/contract'
import { Value } from 'typebox/value'
import { readHostData, redactedEnvironment } from './host-data.ts'

test('host data: values of variables that may be secrets are redacted', () => {
  const shown = redactedEnvironment({
    PATH: '/bin',
    REEVE_TOKEN: 'secret',
    DATABASE_URL: 'postgres://user:secret@host',
    EMPTY: undefined,
  })
  assert.deepEqual(shown, {
    DATABASE_URL: '<redacted>',
    EMPTY: '<redacted>',
    PATH: '/bin',
    REEVE_TOKEN: '<redacted>',
  })
})

test('host data: what this machine is', async () => {
  const data = await readHostData(tmpdir(), { PATH: '/bin' })
  assert.ok(Value.Check(HostData, data))
  assert.match(data.OS, /^Linux /)
  assert.ok((data.Disk['/']?.DiskMB ?? 0) > 0)
  assert.ok(data.Disk[tmpdir()] !== undefined)
})

test('host data: a directory that does not exist yet is left out', async () => {
  const data = await readHostData('/no/such/directory', {})
  assert.deepEqual(Object.keys(data.Disk), ['/'])
})
