import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CatalogClient } from './catalog-client.ts'

const WEB = { jobId: 'shop', group: 'front', task: 'web' }

function aClient() {
  const said: Record<string, unknown>[] = []
  const client = new CatalogClient((message) => void said.push({ ...message }))
  return { said, client, catalog: client.forTask(WEB) }
}

function query(path: string, stop = new AbortController()) {
  return { namespace: 'default', path, signal: stop.signal }
}

test('catalog: two templates with the same dependency share one watch', () => {
  const { said, client, catalog } = aClient()
  const seen: (readonly [string, unknown])[] = []
  for (const who of ['one', 'two'])
    catalog.watchVariable(query('service/jobs/shop'), (items) => seen.push([who, items]))
  assert.equal(said.length, 1)
  client.onFacts({ kind: 'facts', id: 1, items: { a: '1' } })
  client.onFacts({ kind: 'facts', id: 1, items: { a: '1' } })
  assert.deepEqual(seen, [
    ['one', { a: '1' }],
    ['two', { a: '1' }],
  ])
  catalog.watchVariable(query('service/jobs/shop'), (items) => seen.push(['three', items]))
  assert.deepEqual(seen.at(-1), ['three', { a: '1' }])
})

test('catalog: watches are reopened on a new channel; the last value stays valid meanwhile', () => {
  const { said, client, catalog } = aClient()
  const seen: unknown[] = []
  catalog.watchVariablePaths(query('service/jobs'), (paths) => seen.push(paths))
  client.onFacts({ kind: 'facts', id: 1, paths: ['service/jobs'] })
  client.resubscribeAll()
  assert.deepEqual(said.at(-1), {
    kind: 'watch',
    id: 2,
    what: { topic: 'variables', namespace: 'default', path: 'service/jobs' },
  })
  client.onFacts({ kind: 'facts', id: 1, paths: ['from before'] })
  client.onFacts({ kind: 'facts', id: 2, paths: ['service/jobs'] })
  assert.deepEqual(seen, [['service/jobs']])
})

test('catalog: the watch ends with its last listener', () => {
  const { said, catalog } = aClient()
  const [first, second] = [new AbortController(), new AbortController()]
  catalog.watchVariable(query('a', first), () => undefined)
  catalog.watchVariable(query('a', second), () => undefined)
  first.abort()
  assert.equal(said.length, 1)
  second.abort()
  assert.deepEqual(said.at(-1), { kind: 'unwatch', id: 1 })
})

const own = [
  { path: 'service/jobs', isAsked: true },
  { path: 'service/jobs/shop', isAsked: true },
  { path: 'service/jobs/shop/front', isAsked: true },
  { path: 'service/jobs/shop/front/web', isAsked: true },
  { path: 'service/jobs/shop/front/other', isAsked: false },
  { path: 'service/jobs/shop/back', isAsked: false },
  { path: 'service/jobs/other', isAsked: false },
  { path: 'team/shared', isAsked: true },
]
for (const { path, isAsked } of own)
  test(`catalog: ${path} ${isAsked ? 'is watched' : 'is empty'} for a task`, () => {
    const { said, catalog } = aClient()
    const seen: unknown[] = []
    catalog.watchVariable(query(path), (items) => seen.push(items))
    assert.deepEqual([said.length, seen], isAsked ? [1, []] : [0, [undefined]])
  })
