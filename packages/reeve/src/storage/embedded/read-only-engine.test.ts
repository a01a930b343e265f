import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  changeByte,
  contentOf,
  everythingIn,
  fillDataDirectory,
  fingerprint,
  levelFile,
} from '../../../test/build/data-directory.ts'
import { temporaryDirectory } from '../../../test/build/temporary-directory.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { joinStoredRow } from '../../state/index.ts'
import { openReadOnlyEngine } from './read-only-engine.ts'

const fault = new Fault('storage-full', 'The disk is full.')

test('read-only engine: it gives what the writable one gives, and changes nothing', async (t) => {
  const directory = await fillDataDirectory(await temporaryDirectory(t))
  const wanted = await everythingIn(directory)
  const before = await fingerprint(directory)
  const engine = await openReadOnlyEngine(directory, fault)
  const texts = (rows: typeof wanted.rows) =>
    rows.map((row) => JSON.stringify([row.table, row.key, joinStoredRow(row)])).toSorted()
  assert.deepEqual(texts((await contentOf(engine.load())).flat()), texts(wanted.rows))
  const { lastIndex, checkpoint } = wanted.opened
  assert.deepEqual(
    [engine.initialPosition.lastIndex, engine.initialPosition.checkpoint],
    [lastIndex, checkpoint],
  )
  assert.deepEqual(
    await contentOf(engine.read(31)),
    wanted.entries.filter(({ index }) => index > 30),
  )
  for (let at = 1; at <= 20; at++)
    assert.deepEqual(
      Buffer.from((await engine.readBlob(`blob-${at}`)) ?? []),
      Buffer.from(wanted.blobs[at - 1] ?? []),
    )
  await assert.rejects(engine.append(), fault)
  await assert.rejects(engine.checkpoint(), fault)
  await engine.close()
  assert.deepEqual(await fingerprint(directory), before)
})

test('read-only engine: a damaged storage is refused, and an empty one is the original fault', async (t) => {
  const directory = await fillDataDirectory(await temporaryDirectory(t))
  await changeByte(await levelFile(directory, '.ldb'), 100)
  await assert.rejects(openReadOnlyEngine(directory, fault), { kind: 'storage-corrupt' })
  await assert.rejects(openReadOnlyEngine(await temporaryDirectory(t), fault), fault)
})
