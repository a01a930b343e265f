import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TemplateQueue, type TemplateQueueOwner } from './template-renderer.ts'

interface Item {
  readonly owner: TemplateQueueOwner
  readonly name: string
}

/** `alpha/web 1` is the first item of the job web in alpha. */
function item(name: string): Item {
  const [path = ''] = name.split(' ')
  const [namespace = '', job = ''] = path.split('/')
  return { owner: { namespace, job }, name }
}

function taken(
  queue: TemplateQueue<Item>,
  mayRun: (owner: TemplateQueueOwner) => boolean = () => true,
): readonly string[] {
  const names: string[] = []
  for (let next = queue.shift(mayRun); next !== undefined; next = queue.shift(mayRun)) {
    names.push(next.name)
  }
  return names
}

const cases = [
  {
    name: 'a job has its items in order',
    pushed: ['a/x 1', 'a/x 2', 'a/x 3'],
    wanted: ['a/x 1', 'a/x 2', 'a/x 3'],
  },
  {
    name: 'jobs of a namespace take turns',
    pushed: ['a/x 1', 'a/x 2', 'a/x 3', 'a/y 1', 'a/z 1'],
    wanted: ['a/x 1', 'a/y 1', 'a/z 1', 'a/x 2', 'a/x 3'],
  },
  {
    name: 'namespaces take turns, however many jobs one has',
    pushed: ['a/w 1', 'a/x 1', 'a/y 1', 'a/z 1', 'b/x 1', 'b/x 2'],
    wanted: ['a/w 1', 'b/x 1', 'a/x 1', 'b/x 2', 'a/y 1', 'a/z 1'],
  },
]
for (const { name, pushed, wanted } of cases) {
  test(`fair queue: ${name}`, () => {
    const queue = new TemplateQueue<Item>()
    for (const one of pushed) queue.push(item(one))
    assert.deepEqual(taken(queue), wanted)
  })
}

test('fair queue: an owner that may not run is left where it is', () => {
  const queue = new TemplateQueue<Item>()
  for (const one of ['a/x 1', 'a/y 1', 'b/x 1']) queue.push(item(one))
  const isOther = ({ namespace, job }: TemplateQueueOwner): boolean =>
    namespace !== 'a' || job !== 'x'
  assert.deepEqual(taken(queue, isOther), ['a/y 1', 'b/x 1'])
  assert.deepEqual(taken(queue), ['a/x 1'])
})

test('fair queue: items are removed, and all taken at once', () => {
  const queue = new TemplateQueue<Item>()
  const items = ['a/x 1', 'a/x 2', 'b/x 1'].map(item)
  for (const one of items) queue.push(one)
  for (const one of items.slice(1)) queue.remove(one)
  assert.deepEqual(
    queue.drain().map(({ name }) => name),
    ['a/x 1'],
  )
  assert.deepEqual(taken(queue), [])
})
