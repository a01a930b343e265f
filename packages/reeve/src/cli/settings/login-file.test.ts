import assert from 'node:assert/strict'
import { test } from 'node:test'
import { temporaryDirectory } from '../../../test/build/temporary-directory.ts'
import { deleteDevToken, saveDevToken, readDevTokens } from './login-file.ts'

test('dev tokens: an agent takes away its own, and not that of one that came after it', async (t) => {
  const environment = { XDG_CONFIG_HOME: await temporaryDirectory(t) }
  const address = 'http://127.0.0.1:4646'
  assert.deepEqual(await readDevTokens(environment), {})
  await saveDevToken(environment, { address, token: 'first' })
  await saveDevToken(environment, { address, token: 'second' })
  await saveDevToken(environment, { address: 'http://[::1]:4646', token: 'other' })
  await deleteDevToken(environment, { address, token: 'first' })
  const other = { 'http://[::1]:4646': 'other' }
  assert.deepEqual(await readDevTokens(environment), { ...other, [address]: 'second' })
  await deleteDevToken(environment, { address, token: 'second' })
  assert.deepEqual(await readDevTokens(environment), other)
})
