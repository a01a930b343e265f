import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmod, lstat, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryDirectory } from '../../../test/build/temporary-directory.ts'
import { AGENT_LIMITS } from '../limits.ts'
import { removeTree } from './safe-directory.ts'

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

test('removeTree: a directory that cannot be removed is an error', async (t) => {
  const root = await temporaryDirectory(t)
  await assert.rejects(removeTree('/proc/self/status'), { name: 'Error' })
  assert.ok((await lstat(root)).isDirectory())
})

const FILES = 30_000

test('removeTree: very many files in one directory leave the event loop free', async (t) => {
  const root = await temporaryDirectory(t)
  const tree = join(root, 'tree')
  await mkdir(tree)
  execFileSync('sh', ['-c', `cd '${tree}' && seq 1 ${FILES} | xargs -n 5000 touch`])
  const turns = await countTurns(() => removeTree(tree))
  assert.deepEqual(await readdir(root), [])
  // Others have a turn after each batch; the runtime's `rm` has one for all of them.
  assert.ok(turns >= FILES / AGENT_LIMITS.directoryBatchSize, `the event loop had ${turns} turns`)
})

/** Turns of the event loop, not time: garbage of other tests must not fail this one. */
async function countTurns(work: () => Promise<void>): Promise<number> {
  let turns = 0
  let isOver = false
  const count = (): void => {
    turns++
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  await work().finally(() => (isOver = true))
  return turns
}
