import assert from 'node:assert/strict'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { temporaryDirectory } from '../../../test/build/temporary-directory.ts'
import type { CgroupLayout } from './cgroup.ts'
import type { HandleRecord } from './supervisor-records.ts'
import { SharedCores } from './shared-cores.ts'

const PROCESS = { pid: 2, startTime: 1 }

/** Plain files stand for those of the kernel, which keep what is written to them. */
async function aTask(dir: string, id: string): Promise<HandleRecord> {
  const group = join(dir, id)
  await mkdir(group, { recursive: true })
  await writeFile(join(group, 'cgroup.procs'), '41\n42\n')
  return {
    rootProcess: PROCESS,
    task: PROCESS,
    shim: PROCESS,
    bootId: 'boot',
    isIsolated: true,
    cgroups: [group],
    killCgroup: group,
  }
}

async function version2(t: TestContext): Promise<CgroupLayout & { readonly dir: string }> {
  const dir = await temporaryDirectory(t)
  return { dir, kind: 'v2', v1: {}, v2: { dir, controllers: ['cpu', 'cpuset'] } }
}

test('shared cores: with version 2 each task has them in its own group', async (t) => {
  const layout = await version2(t)
  const cores = new SharedCores('owner', () => Promise.resolve(layout))
  const read = (id: string): Promise<string> =>
    readFile(join(layout.dir, id, 'cpuset.cpus'), 'utf8').catch(() => 'unset')
  await cores.add('a', await aTask(layout.dir, 'a'))
  assert.equal(await read('a'), 'unset', 'nothing is reserved')
  await cores.setCores([1, 2])
  assert.equal(await read('a'), '1,2\n')
  await cores.add('b', await aTask(layout.dir, 'b'))
  assert.equal(await read('b'), '1,2\n', 'a task that starts later')
  cores.delete('b')
  await cores.setCores([])
  assert.equal(await read('a'), '\n', 'all cores again')
  assert.equal(await read('b'), '1,2\n', 'a task that has ended is left alone')
})

test('shared cores: with version 1 processes are moved into one group', async (t) => {
  const dir = await temporaryDirectory(t)
  const [cpuset, freezer] = [join(dir, 'cpuset'), join(dir, 'freezer')]
  await mkdir(cpuset)
  await writeFile(join(cpuset, 'cpuset.cpus'), '0-3')
  await writeFile(join(cpuset, 'cpuset.mems'), '0')
  const layout = { kind: 'v1', v1: { cpuset, freezer }, v2: undefined } as const
  const cores = new SharedCores('owner', () => Promise.resolve(layout))
  const read = (file: string): Promise<string> =>
    readFile(join(cpuset, 'share-owner', file), 'utf8').catch(() => 'unset')
  await cores.add('a', await aTask(freezer, 'a'))
  assert.equal(await read('cpuset.cpus'), 'unset', 'nothing is reserved')
  await cores.setCores([2, 3])
  assert.deepEqual(
    [await read('cpuset.cpus'), await read('cpuset.mems'), await read('cgroup.procs')],
    // The kernel takes one process at a time; the last one is what a plain file keeps.
    ['2,3', '0', '42'],
  )
  await cores.setCores([])
  assert.equal(await read('cpuset.cpus'), '0-3')
})

test('shared cores: a failed change is reported, and the next one is applied', async (t) => {
  const layout = await version2(t)
  const cores = new SharedCores('owner', () => Promise.resolve(layout))
  const task = await aTask(layout.dir, 'a')
  await mkdir(join(layout.dir, 'a', 'cpuset.cpus'))
  await cores.add('a', task)
  await assert.rejects(cores.setCores([1]), /EISDIR/)
  cores.delete('a')
  await cores.add('b', await aTask(layout.dir, 'b'))
  assert.equal(await readFile(join(layout.dir, 'b', 'cpuset.cpus'), 'utf8'), '1\n')
})
