import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { taskHelperPath } from './create-node.ts'

interface Bench {
  readonly dir: string
  readonly data: string
  readonly link: string
  readonly build: (name: string, text: string) => Promise<void>
}

async function aBench(t: TestContext): Promise<Bench> {
  const dir = await mkdtemp(join(tmpdir(), 'reeve-test-'))
  t.after(() => rm(dir, { recursive: true, force: true }))
  const [data, link] = [join(dir, 'data'), join(dir, 'reeve-task')]
  return {
    dir,
    data,
    link,
    build: async (name, text) => {
      await rm(link, { force: true })
      await writeFile(join(dir, name), text, { mode: 0o755 })
      await symlink(name, link)
    },
  }
}

test('the task helper runs from the data directory, whatever becomes of the built one', async (t) => {
  const { data, link, dir, build } = await aBench(t)
  await build('reeve-task-1', 'one')
  assert.equal(taskHelperPath(data, link), join(data, 'bin/reeve-task-1'))
  await rm(join(dir, 'reeve-task-1'))
  assert.equal(await readFile(join(data, 'bin/reeve-task-1'), 'utf8'), 'one')
})

test('a newer task helper takes the place of the older, and a damaged copy is mended', async (t) => {
  const { data, link, build } = await aBench(t)
  await build('reeve-task-1', 'one')
  taskHelperPath(data, link)
  await build('reeve-task-2', 'two')
  taskHelperPath(data, link)
  await writeFile(join(data, 'bin/reeve-task-2'), 'half')
  assert.equal(taskHelperPath(data, link), join(data, 'bin/reeve-task-2'))
  assert.deepEqual(await readdir(join(data, 'bin')), ['reeve-task-2'])
  assert.equal(await readFile(join(data, 'bin/reeve-task-2'), 'utf8'), 'two')
})

test('where the data directory takes no copy, the built task helper is used', async (t) => {
  const { data, link, dir, build } = await aBench(t)
  await build('reeve-task-1', 'one')
  await mkdir(data)
  await writeFile(join(data, 'bin'), 'in the way')
  assert.equal(taskHelperPath(data, link), join(dir, 'reeve-task-1'))
})

test('a machine on which none was built has no task helper', async (t) => {
  const { data, link } = await aBench(t)
  assert.equal(taskHelperPath(data, link), undefined)
})
