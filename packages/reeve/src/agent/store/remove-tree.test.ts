import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmod, lstat, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryDirectory } from '../../../test/build/temporary-directory.ts'
import { removeTree } from './remove-tree.ts'

test('removeTree: removes files, directories and links, and nothing behind links', async (t) => {
  const root = await temporaryDirectory(t)
  await mkdir(join(root, 'outside'))
  await writeFile(join(root, 'outside/kept'), 'kept')
  const tree = join(root, 'tree')
  await mkdir(join(tree, 'a/b/c'), { recursive: true })
  await writeFile(join(tree, 'a/file'), '')
  await writeFile(join(tree, 'a/b/read-only'), '', { mode: 0o400 })
  await chmod(join(tree, 'a/b/c'), 0o500)
  await symlink(join(root, 'outside'), join(tree, 'a/link'))
  await symlink('nowhere', join(tree, 'a/b/broken'))
  execFileSync('mkfifo', [join(tree, 'a/fifo')])
  await removeTree(tree)
  assert.deepEqual(await readdir(root), ['outside'])
  assert.equal(await readFile(join(root, 'outside/kept'), 'utf8'), 'kept')
})

test('removeTree: a link or a file is removed as such, and what is not there is no mistake', async (t) => {
  const root = await temporaryDirectory(t)
  await mkdir(join(root, 'target'))
  await symlink('target', join(root, 'link'))
  await writeFile(join(root, 'file'), '')
  for (const name of ['link', 'file', 'nothing', 'no/parent']) await removeTree(join(root, name))
  assert.deepEqual(await readdir(root), ['target'])
})

test('removeTree: a directory that cannot be removed is told', async (t) => {
  const root = await temporaryDirectory(t)
  await assert.rejects(removeTree('/proc/self/status'), { name: 'Error' })
  assert.ok((await lstat(root)).isDirectory())
})

const FILES = 30_000
/** A fifth of it is usual; the runtime's `rm` takes 250 ms of processor time in one turn. */
const TURN_MS_MAX = 100

test('removeTree: very many files in one directory leave the event loop free', async (t) => {
  const root = await temporaryDirectory(t)
  const tree = join(root, 'tree')
  await mkdir(tree)
  execFileSync('sh', ['-c', `cd '${tree}' && seq 1 ${FILES} | xargs -n 5000 touch`])
  const longestMs = await longestTurnMs(() => removeTree(tree))
  assert.deepEqual(await readdir(root), [])
  assert.ok(longestMs < TURN_MS_MAX, `one turn took ${longestMs} ms`)
})

/** Processor time of this thread, not of the clock: a busy machine must not fail the test. */
async function longestTurnMs(work: () => Promise<void>): Promise<number> {
  let longestMs = 0
  let before = process.threadCpuUsage()
  const measure = (): void => {
    const { user, system } = process.threadCpuUsage(before)
    longestMs = Math.max(longestMs, (user + system) / 1_000)
    before = process.threadCpuUsage()
  }
  const timer = setInterval(measure, 1)
  await work().finally(() => clearInterval(timer))
  measure()
  return longestMs
}
