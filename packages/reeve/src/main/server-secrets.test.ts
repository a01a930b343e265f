import assert from 'node:assert/strict'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryDirectory } from '../../test/build/temporary-directory.ts'
import { assertKeyKept, loadServerSecrets } from './server-secrets.ts'

test('a key that is gone is not replaced where a server has sealed with it', async (t) => {
  const dir = await temporaryDirectory(t)
  const storage = join(dir, 'storage')
  assertKeyKept(dir)
  await mkdir(storage)
  // Restored, and not run yet: that it had secrets is not known.
  assertKeyKept(dir)
  await loadServerSecrets(dir, undefined)
  assertKeyKept(dir)
  await rm(join(dir, 'sealing-key'))
  assert.throws(() => assertKeyKept(dir), {
    kind: 'server-secrets',
    message: /sealing-key is missing: .* Restore it from a backup; or, .*head -c 32 /,
  })
  // Who begins with an empty state needs no old key.
  await rm(storage, { recursive: true })
  assertKeyKept(dir)
})
