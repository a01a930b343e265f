import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  chmod,
  lchown,
  lstat,
  mkdir,
  readdir,
  readFile,
  readlink,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { temporaryDirectory } from '../../../test/build/temporary-directory.ts'
import { AGENT_LIMITS } from '../limits.ts'
import { packData, TAR_END, tarHeader, type TarHeaderEntry, tarPadding } from './pack-data.ts'
import { receiveData } from './migrations.ts'

const { signal } = new AbortController()

async function anAllocation(t: TestContext): Promise<string> {
  const root = await temporaryDirectory(t)
  await mkdir(join(root, 'alloc/data'), { recursive: true })
  await mkdir(join(root, 'web/local'), { recursive: true })
  return root
}

async function move(from: string, to: string): Promise<void> {
  await receiveData(packData(from, ['web', 'gone']), { root: to, tasks: ['web'], signal })
}

test('data: arrives unchanged on the other node', async (t) => {
  const [from, to] = [await anAllocation(t), await anAllocation(t)]
  const long = 'long'.repeat(50)
  await mkdir(join(from, 'alloc/data', long, long), { recursive: true })
  await writeFile(join(from, 'alloc/data', long, long, 'x'), 'deep')
  const large = Buffer.alloc(AGENT_LIMITS.dataMigrationChunkBytes * 2 + 17, 'ab')
  await writeFile(join(from, 'alloc/data/large'), large)
  await writeFile(join(from, 'alloc/data/empty'), '')
  await writeFile(join(from, 'web/local/run'), 'own')
  await chmod(join(from, 'web/local/run'), 0o4750)
  await symlink('run', join(from, 'web/local/link'))
  await symlink('../../alloc/data/large', join(from, 'web/local/up'))
  await writeFile(join(from, 'web/secret'), 'not to be moved')
  const isRoot = process.getuid?.() === 0
  if (isRoot) await lchown(join(from, 'web/local/run'), 1_234, 567)
  await move(from, to)
  assert.equal(await readFile(join(to, 'alloc/data', long, long, 'x'), 'utf8'), 'deep')
  assert.deepEqual(await readFile(join(to, 'alloc/data/large')), large)
  assert.equal(await readFile(join(to, 'alloc/data/empty'), 'utf8'), '')
  assert.equal(await readFile(join(to, 'web/local/link'), 'utf8'), 'own')
  assert.equal(await readlink(join(to, 'web/local/up')), '../../alloc/data/large')
  const { mode, uid, gid } = await lstat(join(to, 'web/local/run'))
  if (isRoot) assert.deepEqual([mode & 0o7777, uid, gid], [0o750, 1_234, 567])
  assert.deepEqual((await readdir(to)).toSorted(), ['alloc', 'web'])
  assert.deepEqual(await readdir(join(to, 'web')), ['local'])
})

test('data: planted links are neither followed nor packed', async (t) => {
  const [from, to] = [await anAllocation(t), await anAllocation(t)]
  const outside = await temporaryDirectory(t)
  await writeFile(join(outside, 'secret'), 'secret')
  await symlink(outside, join(from, 'alloc/data/dir'))
  await symlink(join(outside, 'secret'), join(from, 'alloc/data/file'))
  await symlink('../../../../etc/passwd', join(from, 'alloc/data/up'))
  spawnSync('mkfifo', [join(from, 'alloc/data/fifo')])
  await writeFile(join(from, 'alloc/data/ok'), 'ok')
  await move(from, to)
  assert.deepEqual(await readdir(join(to, 'alloc/data')), ['ok'])
})

test('data: a link in the place of a directory of the allocation is not entered', async (t) => {
  const [from, to] = [await temporaryDirectory(t), await anAllocation(t)]
  await mkdir(join(from, 'alloc'))
  await symlink('/etc', join(from, 'alloc/data'))
  await move(from, to)
  assert.deepEqual(await readdir(join(to, 'alloc/data')), [])
})

test('data: an agent that was killed in the middle takes it again', async (t) => {
  const [from, to] = [await anAllocation(t), await anAllocation(t)]
  await writeFile(join(from, 'alloc/data/x'), 'new')
  await mkdir(join(to, '.incoming/alloc/data'), { recursive: true })
  await writeFile(join(to, '.incoming/alloc/data/half'), 'half')
  await move(from, to)
  assert.deepEqual(await readdir(join(to, 'alloc/data')), ['x'])
  // What is in its place already, and perhaps used, stays.
  await writeFile(join(to, 'alloc/data/x'), 'used')
  await move(from, to)
  assert.equal(await readFile(join(to, 'alloc/data/x'), 'utf8'), 'used')
})

const FILE: TarHeaderEntry = {
  path: 'alloc/data/x',
  kind: 'file',
  mode: 0o644,
  uid: 0,
  gid: 0,
  size: 3,
  target: '',
}
const BODY = Buffer.concat([Buffer.from('bad'), tarPadding(3)])
const packed = (fields: Partial<TarHeaderEntry>): Buffer =>
  Buffer.concat([tarHeader({ ...FILE, ...fields }), BODY])
const linked = (target: string): Buffer =>
  Buffer.concat([
    tarHeader({ ...FILE, kind: 'symlink', size: 0, target }),
    packed({ path: 'alloc/data/x/passwd' }),
  ])

const HOSTILE: readonly (readonly [string, Buffer])[] = [
  ['a path above', packed({ path: '../x' })],
  ['an absolute path', packed({ path: '/x' })],
  ['a path that climbs', packed({ path: 'alloc/data/../../../x' })],
  ['a link out', linked('../../../x')],
  ['an absolute link', linked('/etc')],
  ['a way through a link', linked('../../web')],
  ['the same file twice', Buffer.concat([packed({}), packed({})])],
  ['an end in the middle', packed({}).subarray(0, 514)],
  ['no tar', Buffer.alloc(512, 'x')],
]
for (const [name, bytes] of HOSTILE) {
  test(`data: ${name} is refused, and nothing is left`, async (t) => {
    const to = await anAllocation(t)
    const source = async function* (): AsyncGenerator<Uint8Array> {
      await Promise.resolve()
      yield bytes
      if (name !== 'an end in the middle') yield TAR_END
    }
    await assert.rejects(receiveData(source(), { root: to, tasks: ['web'], signal }))
    assert.deepEqual((await readdir(to)).toSorted(), ['alloc', 'web'])
    assert.deepEqual(await readdir(join(to, 'alloc/data')), [])
  })
}

test('data: what is neither shared nor a task’s own is thrown away', async (t) => {
  const to = await anAllocation(t)
  const bytes = [packed({ path: 'web/secrets/x' }), packed({ path: 'alloc/logs/x' }), packed({})]
  const source = async function* (): AsyncGenerator<Uint8Array> {
    await Promise.resolve()
    yield* bytes
    yield TAR_END
  }
  await receiveData(source(), { root: to, tasks: ['web'], signal })
  assert.deepEqual(await readdir(join(to, 'alloc/data')), ['x'])
  assert.deepEqual(await readdir(join(to, 'alloc')), ['data'])
  assert.deepEqual(await readdir(join(to, 'web')), ['local'])
})

test('data: an abandoned migration moves nothing into place', async (t) => {
  const [from, to] = [await anAllocation(t), await anAllocation(t)]
  await writeFile(join(from, 'alloc/data/x'), 'late')
  const late = receiveData(packData(from, []), { root: to, tasks: [], signal: AbortSignal.abort() })
  await assert.rejects(late)
  assert.deepEqual(await readdir(join(to, 'alloc/data')), [])
})
