import assert from 'node:assert/strict'
import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { temporaryDirectory } from '../../test/build/temporary-directory.ts'
import { listLogNumbers, RotatingLogWriter } from './rotating-log.ts'

async function contents(prefix: string): Promise<readonly string[]> {
  const numbers = await listLogNumbers(prefix)
  return Promise.all(numbers.map((number) => readFile(`${prefix}.${number}`, 'latin1')))
}

test('rotating log: files are cut at exactly the limit and the newest are kept', async (t) => {
  const prefix = join(await temporaryDirectory(t), 'web.stdout')
  const log = new RotatingLogWriter({ prefix, maxFiles: 2, maxFileBytes: 4 })
  await log.write(Buffer.from('abcdefghij'))
  await log.write(Buffer.from('kl'))
  await log.write(Buffer.from('m'))
  await log.close()
  assert.deepEqual(await listLogNumbers(prefix), [2, 3])
  assert.deepEqual(await contents(prefix), ['ijkl', 'm'])
})

test('rotating log: a later start appends to the newest file', async (t) => {
  const prefix = join(await temporaryDirectory(t), 'web.stdout')
  for (const word of ['one', 'two', 'six']) {
    const log = new RotatingLogWriter({ prefix, maxFiles: 9, maxFileBytes: 5 })
    await log.write(Buffer.from(word))
    await log.close()
    await log.close()
  }
  assert.deepEqual(await contents(prefix), ['onetw', 'osix'])
})

test('rotating log: neighbours with like names are not part of the sequence', async (t) => {
  const dir = await temporaryDirectory(t)
  for (const name of ['web.stdout.x', 'web.stdout.01', 'web.stdout.7.tmp', 'web2.stdout.9']) {
    await writeFile(join(dir, name), '')
  }
  await writeFile(join(dir, 'web.stdout.3'), '')
  assert.deepEqual(await listLogNumbers(join(dir, 'web.stdout')), [3])
})

test('rotating log: a link is not followed, what cannot be written is counted', async (t) => {
  const dir = await temporaryDirectory(t)
  await writeFile(join(dir, 'precious'), 'keep')
  await symlink(join(dir, 'precious'), join(dir, 'web.stdout.0'))
  const log = new RotatingLogWriter({
    prefix: join(dir, 'web.stdout'),
    maxFiles: 2,
    maxFileBytes: 4,
  })
  await log.write(Buffer.from('lost'))
  assert.equal(log.droppedBytes, 4)
  assert.equal(await readFile(join(dir, 'precious'), 'utf8'), 'keep')
  await rm(join(dir, 'web.stdout.0'))
  await log.write(Buffer.from('kept'))
  await log.close()
  assert.equal(await readFile(join(dir, 'web.stdout.0'), 'utf8'), 'kept')
})

test('rotating log: the files together are the newest bytes that were written', async (t) => {
  const dir = await temporaryDirectory(t)
  let round = 0
  const pieces = fc.array(fc.uint8Array({ maxLength: 50 }), { maxLength: 20 })
  await fc.assert(
    fc.asyncProperty(pieces, fc.integer({ min: 1, max: 30 }), async (writes, maxFileBytes) => {
      round += 1
      const prefix = join(dir, String(round), 'x')
      await mkdir(join(dir, String(round)))
      const log = new RotatingLogWriter({ prefix, maxFiles: 3, maxFileBytes })
      await Promise.all(writes.map((bytes) => log.write(bytes)))
      await log.close()
      const all = Buffer.concat(writes).toString('latin1')
      const found = await contents(prefix)
      assert.ok(found.length <= 3 && found.every((one) => one.length <= maxFileBytes))
      assert.ok(all.endsWith(found.join('')))
      if (all.length <= 3 * maxFileBytes) assert.equal(found.join(''), all)
    }),
    { numRuns: 50 },
  )
})
