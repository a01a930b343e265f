import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fault } from '@reeve/kit/fault.ts'
import { v2 } from '@reeve/contract'
import {
  NotificationLoop,
  signBody,
  SIGNATURE_HEADER,
  type WebhookResponse,
  type WebhookRequest,
} from '../../../src/governance/index.ts'
import { aBody, NOT_FOUND } from './harness.ts'
import { giveWorkspace } from './rows.ts'
import { aRunWorld, ENCRYPTED } from './run-world.ts'
import { patchWorkspace } from './workspace-calls.ts'

const URL_OF_RECEIVER = 'https://receiver.example/hook?key=k'
const MINUTE_MS = 60_000

/** How receivers respond. */
interface Answer {
  now: WebhookResponse
  /** Delays the response to a request; an aborted request has none. */
  delay?: (request: WebhookRequest) => Promise<void> | undefined
}

const ABORTED: WebhookResponse = { code: null, body: 'aborted' }

/** A workspace whose notifications arrive in `sent`, answered with `answer`. */
async function aWorld(answer: Answer = { now: { code: 200, body: 'ok' } }) {
  const sent: WebhookRequest[] = []
  const arrivals: { readonly count: number; readonly resolve: () => void }[] = []
  const webhooks = {
    send: async (request: WebhookRequest) => {
      sent.push(request)
      for (const { count, resolve } of arrivals) if (sent.length >= count) resolve()
      const aborted = Promise.withResolvers<void>()
      request.signal?.addEventListener('abort', () => aborted.resolve())
      const delayed = answer.delay?.(request)
      if (delayed !== undefined) await Promise.race([delayed, aborted.promise])
      return request.signal?.aborted === true ? ABORTED : answer.now
    },
  }
  /** Waits until this many requests have arrived. */
  const arrived = (count: number) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    if (sent.length >= count) resolve()
    else arrivals.push({ count, resolve })
    return promise
  }
  const world = await aRunWorld({ webhooks })
  const { it, workspaceId } = world
  const params = { workspace_id: workspaceId }
  const create = async (attributes: object = {}) => {
    const all = { name: 'hook', 'destination-type': 'generic', url: URL_OF_RECEIVER, ...attributes }
    const body = aBody('notification-configurations', all)
    return (await it.created('createNotificationConfiguration', { params, body })).data
  }
  const log = {
    warn: (fields: object, what: string) => assert.fail(`${what} ${JSON.stringify(fields)}`),
  }
  const { context } = it.server
  const notifier = { context, webhooks, address: () => 'https://reeve.example' }
  const loop = new NotificationLoop({ notifier, log })
  loop.start()
  const told = () => sent.map(({ body }) => payloadOf(body).notifications[0]?.trigger)
  const patch = (id: string, attributes: object) => ({
    params: { notification_configuration_id: id },
    body: aBody('notification-configurations', attributes),
  })
  const { tables } = context.store
  const settle = () => loop.deliverPending()
  return {
    ...world,
    it,
    params,
    sent,
    create,
    patch,
    loop,
    notifier,
    log,
    tables,
    told,
    settle,
    arrived,
  }
}

interface Payload {
  readonly payload_version: number
  readonly run_id: string | null
  readonly run_url: string | null
  readonly workspace_name: string
  readonly organization_name: string
  readonly notifications: readonly {
    readonly message: string
    readonly trigger: string
    readonly run_status: string | null
  }[]
}

function payloadOf(body: string): Payload {
  const payload: Payload = JSON.parse(body)
  return payload
}

test('notifications: an enabled configuration is tested first, and keeps what became of it', async () => {
  const { it, create, sent } = await aWorld()
  const { id, attributes } = await create({
    enabled: true,
    token: 'secret',
    triggers: ['run:created'],
  })
  const [request] = sent
  assert.equal(sent.length, 1)
  assert.equal(request?.url, URL_OF_RECEIVER)
  assert.equal(payloadOf(request?.body ?? '').notifications[0]?.trigger, 'verification')
  assert.equal(request?.headers[SIGNATURE_HEADER], signBody('secret', request?.body ?? ''))
  assert.deepEqual([attributes.enabled, attributes.token], [true, null])
  assert.equal(attributes['delivery-responses'][0]?.successful, true)
  // Neither the token nor the URL is readable in the storage.
  const row = it.server.context.store.tables.notification_configurations.get(id)
  assert.equal(/secret|receiver/.test(JSON.stringify(row)), false)
})

test('notifications: a receiver that refuses the test is refused, and nothing is kept', async () => {
  const { it, params } = await aWorld({ now: { code: 404, body: 'no' } })
  const attributes = { name: 'hook', 'destination-type': 'generic', url: URL_OF_RECEIVER }
  const body = aBody('notification-configurations', { ...attributes, enabled: true })
  const refused = await it.refusal('createNotificationConfiguration', { params, body })
  assert.deepEqual(refused, [
    422,
    'invalid attribute: Url failed verification: HTTP status 404; the receiver must respond with 2xx',
  ])
  assert.deepEqual((await it.ok('listNotificationConfigurations', { params })).data, [])
})

test('notifications: a URL of another kind, and one too many, are refused', async () => {
  const { it, params, create } = await aWorld()
  const attributes = { name: 'hook', 'destination-type': 'generic' }
  const body = (url: string) => aBody('notification-configurations', { ...attributes, url })
  const [status, text = ''] = await it.refusal('createNotificationConfiguration', {
    params,
    body: body('ftp://receiver.example'),
  })
  assert.deepEqual([status, /scheme "ftp"; it must begin with http:/.test(text)], [422, true])
  for (let i = 0; i < v2.NOTIFICATION_CONFIGURATIONS_MAX; i++) await create({ name: `hook ${i}` })
  const full = { params, body: body(URL_OF_RECEIVER) }
  assert.match((await it.refusal('createNotificationConfiguration', full))[1] ?? '', /at most 20/)
})

const ALL = v2.NOTIFICATION_TRIGGERS

test('notifications: the events of a run are delivered once and in order', async () => {
  const world = await aWorld()
  const { it, create, sent, told, settle } = world
  await create({ enabled: true, triggers: ALL })
  sent.length = 0
  const { id } = await world.judged({}, ENCRYPTED)
  await settle()
  assert.deepEqual(told(), ['run:created', 'run:planning', 'run:needs_attention'])
  const payload = payloadOf(sent[0]?.body ?? '')
  assert.deepEqual(
    [payload.payload_version, payload.run_id, payload.workspace_name, payload.organization_name],
    [1, id, 'net', 'acme'],
  )
  assert.equal(payload.run_url, `https://reeve.example/ui/organizations/acme/runs/${id}`)
  sent.length = 0
  await it.call('discardRun', { params: { run_id: id } })
  const other = await world.newRun()
  await it.call('cancelRun', { params: { run_id: other.id } })
  await settle()
  assert.deepEqual(told(), ['run:created', 'run:errored'])
})

test('notifications: only what is asked for, only while enabled, and nothing from before', async () => {
  const world = await aWorld()
  const { it, create, sent, told, settle } = world
  await world.newRun()
  it.server.clock.advance(1)
  const { id } = await create({ enabled: true, triggers: ['run:created'] })
  sent.length = 0
  await settle()
  assert.deepEqual(told(), [])
  await world.newRun()
  await settle()
  assert.deepEqual(told(), ['run:created'])
  const body = aBody('notification-configurations', { enabled: false })
  const params = { notification_configuration_id: id }
  await it.ok('updateNotificationConfiguration', { params, body })
  await world.newRun()
  await settle()
  assert.equal(told().length, 1)
})

test('notifications: a receiver that fails is tried again with pauses, then given up', async () => {
  const answer: { now: WebhookResponse } = { now: { code: 200, body: '' } }
  const world = await aWorld(answer)
  const { it, create, sent, loop, settle } = world
  const { id } = await create({ enabled: true, triggers: ['run:created'] })
  sent.length = 0
  answer.now = { code: 503, body: 'later' }
  await world.newRun()
  await settle()
  assert.equal(sent.length, 1)
  await settle()
  assert.equal(sent.length, 1)
  for (let i = 0; i < 60; i++) {
    it.server.clock.advance(MINUTE_MS)
    await settle()
  }
  assert.equal(sent.length, 5)
  const params = { notification_configuration_id: id }
  const { data } = await it.ok('readNotificationConfiguration', { params })
  const [last] = data.attributes['delivery-responses']
  assert.deepEqual([last?.code, last?.body, last?.successful], [503, 'later', false])
  await loop.stop()
})

test('notifications: a server that starts goes on, and tells nothing twice', async () => {
  const world = await aWorld()
  const { create, sent, told, loop, notifier, log, settle } = world
  await create({ enabled: true, triggers: ['run:created'] })
  await world.newRun()
  await settle()
  await loop.stop()
  sent.length = 0
  await world.newRun()
  assert.deepEqual(told(), [])
  const restart = async () => {
    const next = new NotificationLoop({ notifier, log })
    next.start()
    await next.deliverPending()
    await next.stop()
  }
  await restart()
  assert.deepEqual(told(), ['run:created'])
  await restart()
  assert.deepEqual(told(), ['run:created'])
})

test('notifications: a receiver that does not respond delays no other', async () => {
  const answer: Answer = { now: { code: 200, body: '' } }
  const world = await aWorld(answer)
  const { create, sent, loop, tables, arrived } = world
  const { id } = await create({ url: 'https://slow.example', enabled: true, triggers: ALL })
  await create({ url: 'https://fast.example', enabled: true, triggers: ['run:created'] })
  sent.length = 0
  answer.delay = ({ url }) =>
    url.includes('slow') ? Promise.withResolvers<void>().promise : undefined
  await world.newRun()
  await arrived(2)
  await world.newRun()
  await arrived(3)
  assert.equal(sent.filter(({ url }) => url.includes('slow')).length, 1)
  // The delivery in progress is aborted and not recorded.
  await loop.stop()
  assert.equal(tables.notifications.countByIndex('configuration', id), 0)
})

test('notifications: nothing is sent while the storage has a fault', async () => {
  const world = await aWorld()
  const { it, create, sent, loop, notifier, log } = world
  await create({ enabled: true, triggers: ['run:created'] })
  await loop.stop()
  await world.newRun()
  sent.length = 0
  it.server.context.store.abortPending(new Fault('storage-closed', 'closed by the test'))
  const next = new NotificationLoop({ notifier, log })
  next.start()
  await next.deliverPending()
  await next.stop()
  assert.deepEqual(sent, [])
})

test('notifications: a loop that stopped observes no more changes', async (t) => {
  const world = await aWorld()
  await world.loop.stop()
  const { notification_configurations: configurations } = world.tables
  const { mock } = t.mock.method(configurations, 'keysByIndex')
  await world.newRun()
  assert.equal(mock.callCount(), 0)
})

test('notifications: runs are read only for their triggers, and once more after a delivery', async (t) => {
  const world = await aWorld()
  const { it, workspaceId, create, patch, sent, tables, settle } = world
  const { id } = await create({
    enabled: true,
    triggers: ['workspace:auto_destroy_reminder'],
  })
  await patchWorkspace(it, workspaceId, {
    attributes: { 'auto-destroy-activity-duration': '1d', 'inherits-project-auto-destroy': false },
  })
  await world.newRun()
  await settle()
  const { mock } = t.mock.method(tables.runs, 'keysByIndex')
  const reads = () => {
    const count = mock.calls.filter(({ arguments: [index] }) => index === 'workspace').length
    mock.resetCalls()
    return count
  }
  it.server.clock.advance(12 * 60 * MINUTE_MS)
  await settle()
  assert.equal(reads(), 0)
  await it.ok('updateNotificationConfiguration', patch(id, { triggers: ['run:created'] }))
  await settle()
  reads()
  sent.length = 0
  it.server.clock.advance(1)
  await world.newRun()
  reads()
  await settle()
  assert.deepEqual([sent.length, reads()], [1, 2])
})

test('notifications: a retry that can no longer run is deleted', async () => {
  const answer: Answer = { now: { code: 200, body: '' } }
  const world = await aWorld(answer)
  const { it, create, patch, tables, settle } = world
  const { id } = await create({ enabled: true, triggers: ['run:created'] })
  answer.now = { code: 503, body: '' }
  await world.newRun()
  await settle()
  assert.equal(tables.notifications.size, 1)
  await it.ok('updateNotificationConfiguration', patch(id, { enabled: false }))
  it.server.clock.advance(61 * MINUTE_MS)
  await settle()
  assert.equal(tables.notifications.size, 0)
})

test('notifications: a new trigger delivers nothing from before', async () => {
  const world = await aWorld()
  const { it, create, patch, told, sent, settle } = world
  const { id } = await create({ enabled: true, triggers: ['run:created'] })
  await world.judged({}, ENCRYPTED)
  await settle()
  sent.length = 0
  it.server.clock.advance(1)
  await it.ok('updateNotificationConfiguration', patch(id, { triggers: ALL }))
  await settle()
  assert.deepEqual(told(), ['verification'])
})

test('notifications: times from a clock that was ahead silence nobody', async () => {
  const answer: Answer = { now: { code: 200, body: '' } }
  const world = await aWorld(answer)
  const { it, create, told, sent, settle } = world
  const { clock } = it.server
  clock.jump(1_000 * MINUTE_MS)
  await create({ enabled: true, triggers: ['run:created'] })
  clock.jump(-1_000 * MINUTE_MS)
  sent.length = 0
  await world.newRun()
  clock.advance(1)
  await settle()
  assert.deepEqual(told(), ['run:created'])
  answer.now = { code: 503, body: '' }
  await world.newRun()
  clock.jump(50 * MINUTE_MS)
  await settle()
  clock.jump(-50 * MINUTE_MS)
  sent.length = 0
  answer.now = { code: 200, body: '' }
  clock.advance(MINUTE_MS)
  await settle()
  assert.deepEqual(told(), ['run:created'])
})

test('notifications: an update keeps what was changed during its test, and refuses a conflict', async () => {
  const answer: Answer = { now: { code: 200, body: '' } }
  const { it, create, patch, sent, arrived } = await aWorld(answer)
  const { id } = await create({ enabled: true })
  const during = async (attributes: object, change: () => Promise<unknown>) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    answer.delay = () => promise
    const count = sent.length
    const updated = it.call('updateNotificationConfiguration', patch(id, attributes))
    await arrived(count + 1)
    delete answer.delay
    await change()
    resolve()
    return (await updated).status
  }
  const { id: verified } = await create({ enabled: true })
  const verify = () =>
    it.ok('verifyNotificationConfiguration', {
      params: { notification_configuration_id: verified },
    })
  assert.equal(await during({ name: 'first' }, verify), 200)
  const rename = () => it.ok('updateNotificationConfiguration', patch(id, { name: 'second' }))
  assert.equal(await during({ triggers: ['run:created'] }, rename), 200)
  const disable = () => it.ok('updateNotificationConfiguration', patch(id, { enabled: false }))
  assert.equal(await during({ name: 'third' }, disable), 409)
  const params = { notification_configuration_id: id }
  const { attributes } = (await it.ok('readNotificationConfiguration', { params })).data
  assert.deepEqual(
    [attributes.name, attributes.triggers, attributes.enabled],
    ['second', ['run:created'], false],
  )
})

test('notifications: configurations that are tested together do not exceed the maximum', async () => {
  const answer: Answer = { now: { code: 200, body: '' } }
  const { it, params, create, arrived } = await aWorld(answer)
  for (let i = 1; i < v2.NOTIFICATION_CONFIGURATIONS_MAX; i++) await create({ name: `hook ${i}` })
  const attributes = { name: 'hook', 'destination-type': 'generic', url: URL_OF_RECEIVER }
  const body = aBody('notification-configurations', { ...attributes, enabled: true })
  const { promise, resolve } = Promise.withResolvers<void>()
  answer.delay = () => promise
  const both = [1, 2].map(() => it.call('createNotificationConfiguration', { params, body }))
  await arrived(2)
  resolve()
  const codes = (await Promise.all(both)).map(({ status }) => status)
  assert.deepEqual(
    codes.toSorted((a, b) => a - b),
    [201, 422],
  )
})

test('notifications: two reminders are sent before a workspace is destroyed', async () => {
  const world = await aWorld()
  const { it, workspaceId, create, sent, loop, told, settle } = world
  await create({ enabled: true, triggers: ['workspace:auto_destroy_reminder'] })
  await patchWorkspace(it, workspaceId, {
    attributes: { 'auto-destroy-activity-duration': '2d', 'inherits-project-auto-destroy': false },
  })
  const countAfter = async (hours: number) => {
    it.server.clock.advance(hours * 60 * MINUTE_MS)
    await settle()
    return sent.length - 1
  }
  assert.equal(await countAfter(23), 0)
  assert.equal(await countAfter(1), 1)
  assert.equal(await countAfter(11), 1)
  assert.equal(await countAfter(1), 2)
  assert.match(
    payloadOf(sent[1]?.body ?? '').notifications[0]?.message ?? '',
    /net will be destroyed at/,
  )
  assert.equal(told().at(-1), 'workspace:auto_destroy_reminder')
  await loop.stop()
})

test('notifications: verify tells how the receiver answered', async () => {
  const answer: { now: WebhookResponse } = { now: { code: 204, body: '' } }
  const { it, create } = await aWorld(answer)
  const { id } = await create()
  const params = { notification_configuration_id: id }
  const { data } = await it.ok('verifyNotificationConfiguration', { params })
  assert.equal(data.attributes['delivery-responses'][0]?.code, 204)
  answer.now = { code: null, body: 'nobody is there' }
  const [status, text = ''] = await it.refusal('verifyNotificationConfiguration', { params })
  assert.deepEqual([status, /no response: nobody is there/.test(text)], [422, true])
})

test('notifications: only who may update the workspace sees where they go', async () => {
  const { it, workspaceId, params, create } = await aWorld()
  const { id } = await create()
  const writers = await it.team('acme', 'writers')
  await giveWorkspace(it, { teamId: writers.id, workspaceId }, 'write')
  const as = writers.token
  const one = { params: { notification_configuration_id: id }, as }
  assert.deepEqual(await it.refusal('listNotificationConfigurations', { params, as }), NOT_FOUND)
  assert.deepEqual(await it.refusal('readNotificationConfiguration', one), NOT_FOUND)
  assert.deepEqual(await it.refusal('deleteNotificationConfiguration', one), NOT_FOUND)
  await it.done('deleteNotificationConfiguration', { ...one, as: it.root })
})
