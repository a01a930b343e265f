import assert from 'node:assert/strict'
import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryDirectory } from '../../test/build/temporary-directory.ts'
import { createSealer, loadClusterSecrets, loadServerSecrets } from './secrets.ts'

const EMPTY = { name: 'the state', lastIndex: 0 }
const FILLED = { name: 'the state', lastIndex: 12 }

test('a key that is gone is not replaced where a state was sealed with it', async (t) => {
  const directory = await temporaryDirectory(t)
  const made = await loadServerSecrets({ directory, state: EMPTY })
  assert.deepEqual(await loadServerSecrets({ directory, state: FILLED }), made)
  await rm(join(directory, 'sealing-key'))
  await assert.rejects(loadServerSecrets({ directory, state: FILLED }), {
    kind: 'server-secrets',
    message: /sealing-key is missing: .* Restore it from a backup, .*head -c 32 /,
  })
  // Who begins with an empty state needs no old key.
  await loadServerSecrets({ directory, state: EMPTY })
})

test('a state that was restored or moved is not taken with a key made for it', async (t) => {
  for (const load of [loadServerSecrets, loadClusterSecrets]) {
    const directory = await temporaryDirectory(t)
    await assert.rejects(load({ directory, state: FILLED }, {}), { kind: 'server-secrets' })
    assert.deepEqual(await readdir(directory), [], 'the next start is refused as well')
    await load({ directory, state: FILLED }, { clusterKey: 'a key of the cluster' })
    await assert.rejects(stat(join(directory, 'sealing-key')))
  }
})

test('a cluster key seals the same in a directory as in a database', async (t) => {
  const place = { directory: await temporaryDirectory(t), state: EMPTY }
  const before = createSealer(await loadServerSecrets(place)).seal('older')
  const configured = { clusterKey: 'a key of the cluster' }
  const alone = createSealer(await loadServerSecrets(place, configured))
  const shared = createSealer(await loadClusterSecrets(place, configured))
  assert.equal(shared.open(alone.seal('moved')), 'moved')
  assert.equal(alone.open(shared.seal('moved back')), 'moved back')
  assert.equal(alone.open(before), 'older', 'sealed before there was a cluster key')
})

test('a rotated cluster key loses no secret, and servers with either key know each other', async (t) => {
  const place = { directory: await temporaryDirectory(t), state: EMPTY }
  const [first, second] = ['the first key of the cluster', 'the second key of the cluster']
  const before = await loadClusterSecrets(place, {
    clusterKey: first,
    previousClusterKeys: [second],
  })
  const rotated = await loadClusterSecrets(place, {
    clusterKey: second,
    previousClusterKeys: [first],
  })
  for (const [writer, reader] of [
    [before, rotated],
    [rotated, before],
  ] as const) {
    assert.equal(createSealer(reader).open(createSealer(writer).seal('a secret')), 'a secret')
    assert.deepEqual(reader.previousForwardingKeys, [writer.forwardingKey])
    assert.deepEqual(reader.previousFingerprints, [writer.keyFingerprint])
  }
  const alone = await loadServerSecrets(place, { clusterKey: second, previousClusterKeys: [first] })
  assert.equal(createSealer(alone).open(createSealer(before).seal('alone')), 'alone')
  const withoutOld = await loadServerSecrets(place, { clusterKey: second })
  const sealed = createSealer(before).seal('lost')
  assert.throws(() => createSealer(withoutOld).open(sealed), { kind: 'sealing-key' })
})
