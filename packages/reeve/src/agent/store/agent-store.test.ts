import assert from 'node:assert/strict'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { allocationId, anAssignment } from '../../../test/build/agent.ts'
import { temporaryDirectory } from '../../../test/build/temporary-directory.ts'
import { INITIAL_TRACKER } from '../task/restart-policy.ts'
import { ZERO_TASK_STATE } from '../../model/index.ts'
import { DiskStore, type TaskRecord } from './agent-store.ts'

const ID = allocationId(1)

const record: TaskRecord = {
  state: ZERO_TASK_STATE,
  attempt: 2,
  handle: { driver: 'mock', id: 'x', allocationId: ID, task: 'web', dir: '/d', bootId: 'b' },
  restarts: { count: 1, windowStartMs: 5 },
  hooksDone: ['task-dir'],
}

test('what was saved is loaded again', async (t) => {
  const root = await temporaryDirectory(t)
  const assignment = anAssignment()
  const store = new DiskStore(root)
  await store.saveAssignment(assignment)
  await store.saveTasks(ID, { web: record })
  const loaded = await new DiskStore(root).load()
  assert.deepEqual(loaded, [{ assignment, taskRecords: { web: record } }])
})

test('an allocation without a word on its tasks has none', async (t) => {
  const root = await temporaryDirectory(t)
  const store = new DiskStore(root)
  await store.saveAssignment(anAssignment())
  const [loaded] = await store.load()
  assert.deepEqual(loaded?.taskRecords, {})
})

test('a directory in which nothing was finished counts as nothing', async (t) => {
  const root = await temporaryDirectory(t)
  await mkdir(join(root, ID))
  await writeFile(join(root, ID, '.assignment.json.new'), '{"v":1,"allo')
  assert.deepEqual(await new DiskStore(root).load(), [])
})

test('what was removed is gone, and no store at all is an empty one', async (t) => {
  const root = await temporaryDirectory(t)
  const store = new DiskStore(join(root, 'not-yet'))
  assert.deepEqual(await store.load(), [])
  await store.saveAssignment(anAssignment())
  await store.remove(ID)
  assert.deepEqual(await store.load(), [])
})

const damages = [
  { name: 'cut in the middle', file: 'tasks.json', text: '{"v":1,"tasks":{"we' },
  { name: 'of a later version', file: 'tasks.json', text: '{"v":2,"tasks":{}}' },
  { name: 'without its handle', file: 'tasks.json', text: '{"v":1,"tasks":{"web":{}}}' },
  { name: 'with another job', file: 'assignment.json', text: '{"v":1,"allocation":{},"job":{}}' },
  { name: 'of another program', file: 'assignment.json', text: 'hello' },
]
for (const c of damages) {
  test(`a file ${c.name} is an error that names it, and is left as it is`, async (t) => {
    const root = await temporaryDirectory(t)
    const store = new DiskStore(root)
    await store.saveAssignment(anAssignment())
    await store.saveTasks(ID, { web: { ...record, restarts: INITIAL_TRACKER } })
    const path = join(root, ID, c.file)
    await writeFile(path, c.text)
    await assert.rejects(store.load(), (thrown: Error) => {
      assert.equal(Reflect.get(thrown, 'kind'), 'agent-state')
      assert.ok(thrown.message.includes(path), thrown.message)
      return true
    })
    assert.equal(await readFile(path, 'utf8'), c.text)
  })
}

test('every file that cannot be used is named, with the way out', async (t) => {
  const root = await temporaryDirectory(t)
  const store = new DiskStore(root)
  const paths = []
  for (const n of [1, 2, 3]) {
    await store.saveAssignment(anAssignment({ allocation: { ID: allocationId(n) } }))
    await store.saveTasks(allocationId(n), {})
    paths.push(join(root, allocationId(n), 'tasks.json'))
  }
  const [first = '', sound = '', third = ''] = paths
  await writeFile(first, '{')
  await writeFile(third, '{"v":1,"tasks":1}')
  await assert.rejects(store.load(), (thrown: Error) => {
    assert.ok(thrown.message.includes(first), thrown.message)
    assert.ok(thrown.message.includes(third), thrown.message)
    assert.ok(!thrown.message.includes(sound), thrown.message)
    assert.match(thrown.message, /remove the directory of each/)
    return true
  })
})
