/** Files placed below a directory whose content somebody else has prepared. */
import assert from 'node:assert/strict'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { aLauncher, noHelper, noRoot, type Answer, type Spec } from './launcher.ts'

const options = { skip: noHelper, timeout: 300_000 }

interface Place {
  readonly dir: string
  readonly outside: string
  write(path: string, more?: Spec): Promise<Answer>
  mkdir(path: string, more?: Spec): Promise<Answer>
}

function aPlace(t: TestContext): Place {
  const launcher = aLauncher(t)
  const dir = join(launcher.dir, 'task')
  const outside = join(launcher.dir, 'outside')
  const from = join(launcher.dir, 'content')
  mkdirSync(dir)
  mkdirSync(outside)
  writeFileSync(from, 'rendered\n'.repeat(100_000))
  const place = { dir, mode: 0o640 }
  return {
    dir,
    outside,
    write: (path, more = {}) => launcher.ask({ op: 'write', from, path, ...place, ...more }),
    mkdir: (path, more = {}) => launcher.ask({ op: 'mkdir', path, ...place, mode: 0o750, ...more }),
  }
}

test('write: makes the directories on the way and replaces the file whole', options, async (t) => {
  const place = aPlace(t)
  for (const _ of [1, 2]) {
    const answer = await place.write('local/deep/file.txt')
    assert.equal(answer.ok, true, answer.message)
    const file = join(place.dir, 'local/deep/file.txt')
    assert.equal(statSync(file).size, 900_000)
    assert.equal(statSync(file).mode & 0o777, 0o640)
    assert.deepEqual(readdirSync(join(place.dir, 'local/deep')), ['file.txt'])
  }
})

test(
  'write: the file and new directories belong to whom they shall',
  { ...options, skip: noRoot },
  async (t) => {
    const place = aPlace(t)
    mkdirSync(join(place.dir, 'there'))
    await place.write('there/new/file', { uid: 65_534, gid: 65_533 })
    const owner = (path: string) => [
      statSync(join(place.dir, path)).uid,
      statSync(join(place.dir, path)).gid,
    ]
    assert.deepEqual(owner('there'), [0, 0])
    assert.deepEqual(owner('there/new'), [65_534, 65_533])
    assert.deepEqual(owner('there/new/file'), [65_534, 65_533])
  },
)

const escapes = [
  'link/file',
  'local/link/file',
  'absolute/file',
  'loop/file',
  'proc/file',
  'up/outside/file',
]

test('write: no link leads out of the directory', options, async (t) => {
  const place = aPlace(t)
  mkdirSync(join(place.dir, 'local'))
  symlinkSync('../outside', join(place.dir, 'link'))
  symlinkSync('../../outside', join(place.dir, 'local/link'))
  symlinkSync(place.outside, join(place.dir, 'absolute'))
  symlinkSync('loop', join(place.dir, 'loop'))
  symlinkSync(`/proc/${process.pid}/cwd`, join(place.dir, 'proc'))
  symlinkSync('..', join(place.dir, 'up'))
  for (const path of escapes) {
    const answer = await place.write(path)
    assert.deepEqual([answer.ok, answer.kind], [false, 'config'], path)
    assert.match(answer.message ?? '', /leads out of/, path)
    assert.equal((await place.mkdir(path)).kind, 'config', path)
  }
  assert.deepEqual(readdirSync(place.outside), [])
})

test(
  'write: a link inside is followed on the way, but never as the file itself',
  options,
  async (t) => {
    const place = aPlace(t)
    mkdirSync(join(place.dir, 'real'))
    symlinkSync('real', join(place.dir, 'alias'))
    writeFileSync(join(place.outside, 'victim'), 'precious')
    symlinkSync(join(place.outside, 'victim'), join(place.dir, 'real/file'))
    assert.equal((await place.write('alias/file')).ok, true)
    assert.equal(readFileSync(join(place.outside, 'victim'), 'utf8'), 'precious')
    assert.equal(statSync(join(place.dir, 'real/file')).size, 900_000)
  },
)

const refused = [
  { path: '../x', says: /relative path without \.\./ },
  { path: '/x', says: /relative path/ },
  { path: '', says: /relative path/ },
  { path: 'a/../../x', says: /without \.\./ },
]

test('write: what is no path below is refused', options, async (t) => {
  const place = aPlace(t)
  for (const { path, says } of refused) assert.match((await place.write(path)).message ?? '', says)
  assert.equal((await place.write('x', { mode: 0o10000 })).kind, 'config')
  assert.equal((await place.write('x', { from: '/no/such' })).kind, 'unstartable')
  assert.equal((await place.write('x', { dir: '/no/such' })).kind, 'unstartable')
  writeFileSync(join(place.dir, 'file'), '')
  assert.equal((await place.write('file/x')).kind, 'config')
  mkdirSync(join(place.dir, 'folder'))
  assert.equal((await place.write('folder')).ok, false)
})

test('write: a pipe as source or on the way does not hold the launcher', options, async (t) => {
  const place = aPlace(t)
  const pipe = join(place.dir, 'pipe')
  spawnSync('mkfifo', [pipe])
  assert.equal((await place.write('x', { from: pipe })).ok, false)
  assert.equal((await place.write('pipe/x')).ok, false)
  assert.equal((await place.write('pipe')).ok, true)
})

test('mkdir: makes it, and gives one that is there its owner and mode', options, async (t) => {
  const place = aPlace(t)
  assert.equal((await place.mkdir('a/b')).ok, true)
  assert.equal(statSync(join(place.dir, 'a/b')).mode & 0o777, 0o750)
  chmodSync(join(place.dir, 'a/b'), 0o700)
  assert.equal((await place.mkdir('a/b')).ok, true)
  assert.equal(statSync(join(place.dir, 'a/b')).mode & 0o777, 0o750)
  writeFileSync(join(place.dir, 'file'), '')
  assert.equal((await place.mkdir('file')).ok, false)
  assert.ok(existsSync(join(place.dir, 'file')))
})
