import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import { test, type TestContext } from 'node:test'
import { QueryClient, QueryObserver } from '@tanstack/react-query'
import {
  ApiError,
  ConnectionError,
  type Client,
  type EventsRequest,
  type EventStreamLine,
} from '@reeve/sdk'
import { LiveFeed } from './live-feed.ts'

const denied = new ApiError({
  route: { method: 'GET', path: '/v1/event/stream' },
  status: 403,
  text: 'Permission denied',
  errors: [],
  requestId: undefined,
  index: undefined,
  retryAfterMs: undefined,
})

const away = new ConnectionError({
  reason: 'unreachable',
  address: 'http://127.0.0.1',
  message: 'no answer',
  cause: undefined,
})

/** A server that lets through the n-th attempt and says these lines, then stays silent. */
function aServer(options: {
  readonly refusals: number
  readonly refusal?: Error
  readonly lines: readonly EventStreamLine[]
}) {
  const asked: EventsRequest[] = []
  const api = {
    v1: { listJobs: () => Promise.resolve({ index: 7 }) },
    async *events(request: EventsRequest) {
      asked.push(request)
      if (asked.length <= options.refusals) throw options.refusal ?? denied
      yield* options.lines
      await new Promise<void>((resolve) =>
        request.signal?.addEventListener('abort', () => resolve()),
      )
    },
  }
  // The feed calls nothing else.
  return { asked, api: api as unknown as Client }
}

function anEvent(JobID: string): EventStreamLine {
  const event = {
    Topic: 'Job',
    Type: 'JobRegistered',
    Key: JobID,
    Namespace: 'default',
    FilterKeys: null,
  }
  // The payload is not looked at.
  return { Index: 9, Events: [{ ...event, Index: 9, Payload: {} }] } as unknown as EventStreamLine
}

async function started(t: TestContext, server: ReturnType<typeof aServer>) {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const queries = new QueryClient()
  const cache = queries.getQueryCache()
  const query = (key: string) =>
    cache.build(queries, {
      queryKey: [key],
      meta: { watches: [{ topic: 'Job', namespace: 'default', key }] },
    })
  const [web, api] = [query('web'), query('api')]
  const feed = new LiveFeed(server.api, queries)
  t.after(() => feed.stop())
  feed.start()
  for (let turn = 0; turn < 20; turn++) await setImmediate()
  return { feed, queries, web, api }
}

test('an event makes old what watches it, once it was gathered', async (t) => {
  const server = aServer({ refusals: 0, lines: [{}, anEvent('web')] })
  const { feed, web, api } = await started(t, server)
  const batches: number[] = []
  feed.onBatch((events) => batches.push(events.length))
  assert.deepEqual([feed.status, web.state.isInvalidated], ['live', false])
  t.mock.timers.tick(250)
  assert.deepEqual([web.state.isInvalidated, api.state.isInvalidated], [true, false])
  assert.deepEqual(batches, [1])
})

test('the stream begins at the present', async (t) => {
  const server = aServer({ refusals: 0, lines: [{}] })
  await started(t, server)
  assert.deepEqual([server.asked[0]?.index, server.asked[0]?.namespace], [8, '*'])
})

test('a token that may see less asks for less', async (t) => {
  const server = aServer({ refusals: 2, lines: [{}] })
  const { feed } = await started(t, server)
  assert.equal(feed.status, 'live')
  assert.deepEqual(server.asked.at(-1)?.topics, [
    'Job',
    'Allocation',
    'Evaluation',
    'Deployment',
    'Service',
  ])
})

test('without the stream what is shown is read again from time to time', async (t) => {
  const server = aServer({ refusals: 9, lines: [] })
  const { feed } = await started(t, server)
  assert.equal(feed.status, 'polling')
})

test('without the stream the server is away when what is shown cannot be read', async (t) => {
  Object.assign(globalThis, { document: { visibilityState: 'visible' } })
  t.after(() => Reflect.deleteProperty(globalThis, 'document'))
  const { feed, queries, web } = await started(t, aServer({ refusals: 9, lines: [] }))
  let answer = (): Promise<string> => Promise.reject(away)
  const { queryKey, meta = {} } = web
  const queryFn = () => answer()
  const shown = new QueryObserver(queries, { queryKey, queryFn, meta, retry: false })
  t.after(shown.subscribe(() => undefined))
  const next = async () => {
    t.mock.timers.tick(5_000)
    for (let turn = 0; turn < 20; turn++) await setImmediate()
    return feed.status
  }
  assert.equal(await next(), 'lost')
  answer = () => Promise.resolve('a job')
  assert.equal(await next(), 'polling')
  answer = () => Promise.reject(denied)
  assert.equal(await next(), 'polling', 'a refusal is an answer')
})

test('what is shown is left alone while the server is away, and old when it is back', async (t) => {
  const server = aServer({ refusals: 2, refusal: away, lines: [{}] })
  const { feed, web } = await started(t, server)
  const next = async () => {
    t.mock.timers.tick(3_000)
    for (let turn = 0; turn < 20; turn++) await setImmediate()
    return [feed.status, web.state.isInvalidated]
  }
  assert.equal(feed.status, 'lost')
  assert.deepEqual(await next(), ['lost', false])
  assert.deepEqual(await next(), ['live', true])
})

test('after a pause the stream goes on where it ended; after a long one it begins anew', async (t) => {
  const server = aServer({ refusals: 0, lines: [{ Index: 41, Events: [] }] })
  const { feed, web } = await started(t, server)
  const turns = async () => {
    for (let turn = 0; turn < 20; turn++) await setImmediate()
  }
  feed.stop()
  feed.start()
  await turns()
  assert.deepEqual([server.asked.at(-1)?.index, web.state.isInvalidated], [42, false])
  feed.restart()
  await turns()
  assert.deepEqual([server.asked.at(-1)?.index, web.state.isInvalidated], [8, true])
})
