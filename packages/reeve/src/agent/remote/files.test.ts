import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmod, lstat, mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryDirectory } from '../../../test/build/temporary-directory.ts'
import { RemoteRefusal } from './remote-refusal.ts'
import { listFiles, formatMode, statFile, withFile } from './files.ts'

test('modes: are formatted like those of peers', async (t) => {
  const root = await temporaryDirectory(t)
  const at = (name: string) => join(root, name)
  await mkdir(at('directory'))
  await chmod(at('directory'), 0o1777)
  await writeFile(at('file'), '')
  await chmod(at('file'), 0o4750)
  await symlink('file', at('link'))
  execFileSync('mkfifo', ['-m', '600', at('pipe')])
  const modes = await Promise.all(
    ['directory', 'file', 'link', 'pipe'].map(async (name) => formatMode(await lstat(at(name)))),
  )
  assert.deepEqual(modes, ['dtrwxrwxrwx', 'urwxr-x---', 'Lrwxrwxrwx', 'prw-------'])
})

test('stat: of a link describes its target under the requested name', async (t) => {
  const root = await temporaryDirectory(t)
  await mkdir(join(root, 'directory'))
  await symlink('directory', join(root, 'link'))
  for (const [path, Name] of [
    ['link', 'link'],
    ['/link/', 'link'],
    ['directory/../link', 'link'],
    ['/', '/'],
  ] as const) {
    const { Name: told, IsDir } = await statFile(root, path)
    assert.deepEqual({ told, IsDir }, { told: Name, IsDir: true })
  }
})

test('stat: does not reveal whether a forbidden link target exists', async (t) => {
  const [root, outside] = [await temporaryDirectory(t), await temporaryDirectory(t)]
  await writeFile(join(outside, 'there'), '')
  await mkdir(join(root, 'main', 'secrets'), { recursive: true })
  await writeFile(join(root, 'main', 'secrets', 'there'), '')
  await symlink(outside, join(root, 'out'))
  await symlink(join(outside, 'gone'), join(root, 'dangling'))
  await symlink('main/secrets', join(root, 'hidden'))
  await symlink(join(root, 'main'), join(root, 'inside'))
  const refusal = async (path: string): Promise<string> =>
    await statFile(root, path).then(
      () => 'read',
      (thrown: unknown) => (thrown instanceof RemoteRefusal ? thrown.message : String(thrown)),
    )
  const cases = [
    ['out/there', 'Path escapes the alloc directory: out/there'],
    ['out/gone', 'Path escapes the alloc directory: out/gone'],
    ['out/there/gone', 'Path escapes the alloc directory: out/there/gone'],
    ['dangling', 'Path escapes the alloc directory: dangling'],
    ['hidden/there', 'Reading secret file prohibited: hidden/there'],
    ['hidden/gone', 'Reading secret file prohibited: hidden/gone'],
    ['inside/secrets/gone', 'Reading secret file prohibited: inside/secrets/gone'],
    ['inside/gone', 'open inside/gone: no such file or directory'],
    ['gone', 'open gone: no such file or directory'],
  ] as const
  for (const [path, said] of cases) assert.equal(await refusal(path), said)
})

test('list: a directory of very many files is cut', async (t) => {
  const root = await temporaryDirectory(t)
  const script = 'i=0; while [ $i -lt 10050 ]; do : > $i; i=$((i+1)); done'
  execFileSync('/bin/sh', ['-c', script], { cwd: root })
  const files = await listFiles(root, '/')
  assert.equal(files.length, 10_001, 'one more than is shown')
  assert.deepEqual(
    files.map(({ Name }) => Name),
    files.map(({ Name }) => Name).toSorted(),
  )
})

test('list: names that grow when encoded do not exceed the message limit', async (t) => {
  const root = await temporaryDirectory(t)
  // A control character is six bytes in JSON.
  const name = (n: number) => `${n}${'\u0001'.repeat(240)}`
  for (let n = 0; n < 1_500; n++) await writeFile(join(root, name(n)), '')
  const files = await listFiles(root, '/')
  assert.ok(files.length > 500 && files.length < 1_000, `${files.length} files`)
})

const BAD = Buffer.from([0x62, 0xff, 0x5c, 0xfe])

test('names that are not UTF-8 are listed escaped, and open what they name', async (t) => {
  const root = await temporaryDirectory(t)
  const at = (name: Buffer | string) => Buffer.concat([Buffer.from(`${root}/`), Buffer.from(name)])
  await writeFile(at(BAD), 'bad')
  await mkdir(at(Buffer.from([0xe4])))
  await writeFile(at(Buffer.from([0xe4, 0x2f, 0xe9])), 'inner')
  await writeFile(at('ä'), 'utf-8')
  await writeFile(at('b\\x'), 'as it is')
  const names = (await listFiles(root, '/')).map(({ Name }) => Name)
  assert.deepEqual(names, ['\\xe4', 'b\\x', 'b\\xff\\x5c\\xfe', 'ä'])
  const read = (path: string) =>
    withFile(root, path, async ({ handle }) => String(await handle.readFile()))
  assert.equal(await read('b\\xff\\x5c\\xfe'), 'bad')
  assert.equal(await read('\\xe4/\\xe9'), 'inner')
  assert.equal(await read('ä'), 'utf-8')
  assert.equal(await read('b\\x'), 'as it is')
  assert.deepEqual(
    (await listFiles(root, '\\xe4')).map(({ Name }) => Name),
    ['\\xe9'],
  )
})

test('a file whose name is the escaped form of another wins, and both can be read', async (t) => {
  const root = await temporaryDirectory(t)
  await writeFile(join(root, 'b\\xff'), 'text')
  await writeFile(Buffer.concat([Buffer.from(`${root}/b`), Buffer.from([0xff])]), 'bytes')
  const names = (await listFiles(root, '/')).map(({ Name }) => Name)
  assert.deepEqual(names, ['\\x62\\xff', 'b\\xff'])
  const read = (path: string) =>
    withFile(root, path, async ({ handle }) => String(await handle.readFile()))
  assert.deepEqual(await Promise.all(names.map(read)), ['bytes', 'text'])
})

test('an escaped path leads nowhere that a plain one may not', async (t) => {
  const [root, outside] = [await temporaryDirectory(t), await temporaryDirectory(t)]
  await mkdir(join(root, 'main', 'secrets'), { recursive: true })
  await writeFile(join(root, 'main', 'secrets', 'there'), '')
  await writeFile(join(outside, 'there'), '')
  await symlink(outside, join(root, 'out'))
  const cases = [
    ['main/\\x73ecrets/there', 403],
    ['main\\x2fsecrets/there', 403],
    ['\\x2e\\x2e/x', 403],
    ['\\x6fut/there', 403],
    ['a\\x00b', 400],
    ['\\x67one', 404],
  ] as const
  for (const [path, status] of cases) await assert.rejects(statFile(root, path), { status }, path)
})
