import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'node:test'
import { temporaryDirectory } from '../../../test/build/temporary-directory.ts'
import { createFileFunctions } from './read-job-file.ts'

test('fileAccess: reads, finds and lists files beside the job file', async (t) => {
  const directory = await temporaryDirectory(t)
  await mkdir(join(directory, 'conf/deep/deeper'), { recursive: true })
  await writeFile(join(directory, 'conf/a.txt'), 'a')
  await writeFile(join(directory, 'conf/deep/b.txt'), 'b')
  await writeFile(join(directory, 'conf/deep/deeper/c.txt'), 'c')
  const files = createFileFunctions(directory, { environment: { HOME: '/home/ada' } })
  const read = files.read('conf/a.txt')
  assert.ok(read.ok && Buffer.from(read.value).toString() === 'a')
  assert.deepEqual(files.exists('conf/a.txt'), { ok: true, value: true })
  assert.deepEqual(files.exists('conf/none.txt'), { ok: true, value: false })
  const listed = files.list('conf', 1)
  assert.ok(listed.ok)
  assert.deepEqual([...listed.value].toSorted(), ['a.txt', 'deep/b.txt'])
  assert.equal(files.home(), '/home/ada')
  assert.equal(files.absolute('x'), join(directory, 'x'))
})

const refused = [
  {
    name: 'a file that is not there',
    path: 'none.txt',
    says: /^no such file or directory '.*none\.txt'$/,
  },
  { name: 'a directory', path: '.', says: /is not a regular file$/ },
  { name: 'a device without an end', path: '/dev/zero', says: /is not a regular file$/ },
]

for (const { name, path, says } of refused)
  test(`fileAccess: ${name} is an error in words`, async (t) => {
    const files = createFileFunctions(await temporaryDirectory(t), { environment: {} })
    const read = files.read(path)
    assert.ok(!read.ok)
    assert.match(read.error, says)
  })
