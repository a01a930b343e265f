import assert from 'node:assert/strict'
import { mkdir, readFile, readdir, readlink, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { aTar, aZip, type TarEntry, type ZipEntry } from '../../../test/build/archive.ts'
import { temporaryDirectory } from '../../../test/build/temporary-directory.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { AGENT_LIMITS } from '../limits.ts'
import { DiskBudget } from './disk-budget.ts'
import { readTar, readZip } from './archives.ts'
import { unpack, UnpackBudget } from './unpack.ts'

async function untar(root: string, entries: readonly TarEntry[], packed = 1e9): Promise<void> {
  // Odd pieces, as a network delivers them.
  const bytes = aTar(entries)
  const pieces = Array.from({ length: Math.ceil(bytes.length / 777) }, (_, at) =>
    bytes.subarray(at * 777, (at + 1) * 777),
  )
  await unpack(readTar(Readable.from(pieces)), root, { budget: new UnpackBudget(packed) })
}

async function unzip(root: string, entries: readonly ZipEntry[]): Promise<void> {
  const path = `${root}.zip`
  await writeFile(path, aZip(entries))
  await unpack(readZip(path), root, { budget: new UnpackBudget(1e9) })
}

test('a tar archive is unpacked with its directories, links and long names', async (t) => {
  const root = await temporaryDirectory(t)
  const long = `${'deep/'.repeat(30)}name`
  const pax = ` path=${long}\n`
  const line = `${pax.length + 3}${pax}`
  await untar(root, [
    { path: 'bin/', type: '5', mode: 0o700 },
    { path: 'bin/run', text: 'x'.repeat(2_000), mode: 0o4755 },
    { path: './etc/conf', text: 'a=1' },
    { path: 'etc/link', type: '2', target: '../bin/run' },
    { path: 'etc/same', type: '1', target: 'etc/conf' },
    { path: '././@LongLink', type: 'L', text: `${'long/'.repeat(25)}gnu\0` },
    { path: 'cut', text: 'gnu' },
    { path: 'PaxHeaders/x', type: 'x', text: line },
    { path: 'cut', text: 'pax' },
  ])
  assert.equal((await readFile(join(root, 'bin/run'))).length, 2_000)
  assert.equal((await stat(join(root, 'bin/run'))).mode & 0o7777, 0o755)
  assert.equal(await readlink(join(root, 'etc/link')), '../bin/run')
  assert.equal(await readFile(join(root, 'etc/same'), 'utf8'), 'a=1')
  assert.equal(await readFile(join(root, `${'long/'.repeat(25)}gnu`), 'utf8'), 'gnu')
  assert.equal(await readFile(join(root, long), 'utf8'), 'pax')
})

test('files of several directories in turn come to their own, and the root may be named', async (t) => {
  const root = await temporaryDirectory(t)
  const paths = ['a/one', 'b/one', 'a/two', 'top', 'a/b/one', 'b/two']
  await untar(root, [
    { path: './', type: '5', mode: 0o700 },
    ...paths.map((path) => ({ path, text: path })),
    { path: '.', type: '5' },
  ])
  for (const path of paths) assert.equal(await readFile(join(root, path), 'utf8'), path)
  const found = await readdir(root, { recursive: true })
  assert.deepEqual(found.toSorted(), ['a', 'a/b', 'b', ...paths].toSorted())
})

test('a zip archive is unpacked, stored and deflated', async (t) => {
  const root = join(await temporaryDirectory(t), 'tree')
  await mkdir(root)
  await unzip(root, [
    { path: 'd/', mode: 0o040755 },
    { path: 'd/a', text: 'deflated '.repeat(500), mode: 0o100755 },
    { path: 'b', text: 'stored', isStored: true },
    { path: 'empty' },
    { path: 'd/link', text: 'a', mode: 0o120777 },
  ])
  assert.equal(await readFile(join(root, 'd/a'), 'utf8'), 'deflated '.repeat(500))
  assert.equal((await stat(join(root, 'd/a'))).mode & 0o777, 0o755)
  assert.equal(await readFile(join(root, 'b'), 'utf8'), 'stored')
  assert.equal(await readlink(join(root, 'd/link')), 'a')
})

const hostileTars: { readonly name: string; readonly entries: readonly TarEntry[] }[] = [
  { name: 'a path with ..', entries: [{ path: '../evil', text: 'x' }] },
  { name: 'a path with .. inside', entries: [{ path: 'a/../../evil', text: 'x' }] },
  { name: 'an absolute path', entries: [{ path: '/tmp/evil', text: 'x' }] },
  { name: 'an absolute link', entries: [{ path: 'l', type: '2', target: '/etc/passwd' }] },
  { name: 'a link out', entries: [{ path: 'a/l', type: '2', target: '../../etc' }] },
  {
    name: 'a link out through another link',
    entries: [
      { path: 'd/x', text: '' },
      { path: 'p/q/s', type: '2', target: '../../d' },
      { path: 'p/q/l', type: '2', target: 's/../../..' },
    ],
  },
  {
    name: 'a file through a link',
    entries: [
      { path: 'd/x', text: '' },
      { path: 'l', type: '2', target: 'd' },
      { path: 'l/evil', text: 'x' },
    ],
  },
  { name: 'a hard link out', entries: [{ path: 'h', type: '1', target: '/etc/passwd' }] },
  { name: 'a hard link up', entries: [{ path: 'h', type: '1', target: '../other' }] },
  {
    name: 'a hard link to a link',
    entries: [
      { path: 'd', text: 'x' },
      { path: 'l', type: '2', target: 'd' },
      { path: 'h', type: '1', target: 'l' },
    ],
  },
  { name: 'a device', entries: [{ path: 'null', type: '3' }] },
  { name: 'a FIFO', entries: [{ path: 'pipe', type: '6' }] },
  {
    name: 'the same file twice',
    entries: [
      { path: 'a', text: '1' },
      { path: 'a', text: '2' },
    ],
  },
  { name: 'the root as a file', entries: [{ path: '.', text: 'x' }] },
  { name: 'a size that is not there', entries: [{ path: 'a', text: 'x', size: 1e9 }] },
  { name: 'a record that is too large', entries: [{ path: 'a', type: 'x', size: 1e9 }] },
]

for (const { name, entries } of hostileTars) {
  test(`unpack refuses ${name}`, async (t) => {
    const outer = await temporaryDirectory(t)
    const root = join(outer, 'root')
    await mkdir(root)
    await assert.rejects(untar(root, entries), /.*/)
    assert.deepEqual(await readdir(outer), ['root'])
  })
}

test('an archive that unpacks to far more than it is, is refused', async (t) => {
  const root = await temporaryDirectory(t)
  const size = AGENT_LIMITS.decompressionRatioExemptBytes + 1024
  await assert.rejects(untar(root, [{ path: 'zeros', text: '\0'.repeat(size) }], 1_000), {
    message: 'the archive unpacks to far more than it is',
  })
})

test('an archive of too many files is refused', async () => {
  const budget = new UnpackBudget(1)
  for (let n = 0; n < AGENT_LIMITS.unpackedFilesMax; n += 1) budget.addFile()
  assert.throws(() => budget.addFile(), /more than 65536 files/)
})

test('directories that only paths name count, and are bounded in depth', async (t) => {
  const root = await temporaryDirectory(t)
  const deep = (parts: number): string => `${'d/'.repeat(parts - 1)}f`
  const longName = (path: string): readonly TarEntry[] => [
    { path: '././@LongLink', type: 'L', text: `${path}\0` },
    { path: 'cut', text: 'x' },
  ]
  const limit = AGENT_LIMITS.artifactDepthMax
  await untar(root, longName(deep(limit)))
  assert.equal(await readFile(join(root, deep(limit)), 'utf8'), 'x')
  await assert.rejects(untar(root, longName(deep(limit + 1))), /more than 128 deep/)
  const disk = new DiskBudget({ bytesMax: 2 ** 20, totalBytes: 2 ** 20, entriesMax: 4 })
  const unpackTo = async (path: string): Promise<void> => {
    const bytes = aTar([{ path, text: 'x' }])
    const budget = new UnpackBudget(bytes.length, disk)
    await unpack(readTar(Readable.from([bytes])), root, { budget })
  }
  await unpackTo('a/b/c/f')
  await assert.rejects(unpackTo('e'), /more than 4 files, directories and links/)
})

const hostileZips: { readonly name: string; readonly entries: readonly ZipEntry[] }[] = [
  { name: 'a path with ..', entries: [{ path: '../evil', text: 'x' }] },
  { name: 'a link out', entries: [{ path: 'l', text: '/etc', mode: 0o120777 }] },
  { name: 'a device', entries: [{ path: 'd', mode: 0o020666 }] },
  { name: 'a wrong checksum', entries: [{ path: 'a', text: 'x', crc: 1 }] },
]

for (const { name, entries } of hostileZips) {
  test(`unzip refuses ${name}`, async (t) => {
    const outer = await temporaryDirectory(t)
    const root = join(outer, 'root')
    await mkdir(root)
    await assert.rejects(unzip(root, entries), { kind: 'task-artifact' })
    assert.deepEqual((await readdir(outer)).toSorted(), ['root', 'root.zip'])
  })
}

test('a zip file that is cut anywhere is refused, and bytes that change do no harm', async (t) => {
  const root = await temporaryDirectory(t)
  const whole = aZip([
    { path: 'a', text: 'text' },
    { path: 'b/c', text: 'more'.repeat(50) },
  ])
  const read = async (bytes: Uint8Array): Promise<void> => {
    await writeFile(`${root}.zip`, bytes)
    for await (const { body } of readZip(`${root}.zip`)) for await (const _ of body);
  }
  await read(whole)
  for (let length = 0; length < whole.length; length += 3)
    await assert.rejects(read(whole.subarray(0, length)), { kind: 'task-artifact' })
  for (let at = 0; at < whole.length; at += 1) {
    const changed = Uint8Array.from(whole)
    changed[at] = (changed[at] ?? 0) ^ 0x55
    await read(changed).catch((thrown: unknown) => {
      assert.ok(thrown instanceof Fault, String(thrown))
    })
  }
})
