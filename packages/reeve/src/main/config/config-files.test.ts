import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'node:test'
import { temporaryDirectory } from '../../../test/build/temporary-directory.ts'
import { findConfigFiles, type ConfigFileSystem, diskFiles } from './config-files.ts'

/** Files in memory: a text is a file, a list of names a directory, an error is thrown. */
function memoryFiles(
  entries: Readonly<Record<string, string | Uint8Array | readonly string[] | Error>>,
): ConfigFileSystem {
  const get = (path: string): string | Uint8Array | readonly string[] => {
    const entry = entries[path] ?? systemError('ENOENT')
    if (entry instanceof Error) throw entry
    return entry
  }
  return {
    isDirectory: async (path) => Array.isArray(get(path)),
    list: async (path) => {
      const entry = get(path)
      return Array.isArray(entry) ? entry : []
    },
    read: async (path, bytesMax) => {
      const entry = get(path)
      const bytes = entry instanceof Uint8Array ? entry : Buffer.from(String(entry))
      return bytes.subarray(0, bytesMax)
    },
  }
}

function systemError(code: string): Error {
  return Object.assign(new Error(`${code}: it did not work`), { code })
}

test('configuration files: a directory gives its *.hcl and *.json in order', async () => {
  const names = ['b.json', 'Z.hcl', 'a.hcl', '.hidden.hcl', 'notes.md', 'a.hcl~']
  const files = memoryFiles({
    '/etc/reeve.d': names,
    '/etc/reeve.d/a.hcl': 'A',
    '/etc/reeve.d/b.json': 'B',
    '/etc/reeve.d/Z.hcl': 'Z',
    'last.conf': 'L',
  })
  assert.deepEqual(await findConfigFiles(['/etc/reeve.d', 'last.conf'], files), {
    files: [
      { path: '/etc/reeve.d/Z.hcl', source: 'Z' },
      { path: '/etc/reeve.d/a.hcl', source: 'A' },
      { path: '/etc/reeve.d/b.json', source: 'B' },
      { path: 'last.conf', source: 'L' },
    ],
    problems: [],
  })
})

const problemCases = [
  { name: 'is missing', entry: systemError('ENOENT'), want: 'There is no such file or directory.' },
  {
    name: 'may not be read',
    entry: systemError('EACCES'),
    want: 'It may not be read by the account that runs this program.',
  },
  {
    name: 'fails in another way',
    entry: systemError('EIO'),
    want: 'It cannot be read: EIO: it did not work.',
  },
  {
    name: 'never ends',
    entry: 'x'.repeat(2 * 1024 * 1024),
    want: 'It is longer than 1048576 bytes, so it cannot be a configuration.',
  },
  { name: 'is not text', entry: Uint8Array.of(0xff, 0xfe), want: 'It is not UTF-8 text.' },
  {
    name: 'is a directory with far too many files',
    entry: Array.from({ length: 300 }, (_, index) => `${index}.hcl`),
    want: 'It holds 300 files; at most 256 are read.',
  },
]

for (const { name, entry, want } of problemCases)
  test(`configuration files: one that ${name} is reported, and the others are read`, async () => {
    const found = await findConfigFiles(['x', 'ok.hcl'], memoryFiles({ x: entry, 'ok.hcl': 'OK' }))
    assert.deepEqual(found, {
      files: [{ path: 'ok.hcl', source: 'OK' }],
      problems: [{ origin: { kind: 'path', path: 'x' }, message: want }],
    })
  })

test('configuration files: the disk gives no more bytes than asked for', async (t) => {
  const root = await temporaryDirectory(t)
  await mkdir(join(root, 'conf.d'))
  await writeFile(join(root, 'conf.d', 'a.hcl'), 'region = "ü"')
  const found = await findConfigFiles([join(root, 'conf.d'), join(root, 'none')], diskFiles)
  assert.deepEqual(found.files, [{ path: join(root, 'conf.d', 'a.hcl'), source: 'region = "ü"' }])
  assert.deepEqual(
    found.problems.map(({ message }) => message),
    ['There is no such file or directory.'],
  )
  assert.equal((await diskFiles.read(join(root, 'conf.d', 'a.hcl'), 3)).length, 3)
})
