import assert from 'node:assert/strict'
import { test } from 'node:test'
import { v2 } from '@reeve/contract'
import {
  NotificationLoop,
  signature,
  SIGNATURE_HEADER,
  type WebhookAnswer,
  type WebhookRequest,
} from '../../../src/governance/index.ts'
import { aBody, NOT_FOUND } from './harness.ts'
import { giveWorkspace } from './rows.ts'
import { aRunWorld, ENCRYPTED } from './run-world.ts'
import { patchWorkspace } from './workspace-calls.ts'

const URL_OF_RECEIVER = 'https://receiver.example/hook?key=k'
const MINUTE_MS = 60_000

/** A workspace whose notifications arrive in `sent`, answered with `answer`. */
async function aWorld(answer: { now: WebhookAnswer } = { now: { code: 200, body: 'ok' } }) {
  const sent: WebhookRequest[] = []
  const webhooks = {
    send: async (request: WebhookRequest) => {
      sent.push(request)
      return answer.now
    },
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
  const told = () => sent.map(({ body }) => payloadOf(body).notifications[0]?.trigger)
  /** Waits until the loop has told everything. */
  const settle = async () => {
    await loop.work()
    await loop.work()
  }
  return { ...world, it, params, sent, create, loop, told, settle }
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
  assert.equal(request?.headers[SIGNATURE_HEADER], signature('secret', request?.body ?? ''))
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
  assert.deepEqual(refused, [422, 'invalid attribute: Url was tested, and its server answered 404'])
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
  assert.deepEqual([status, /must begin with http/.test(text)], [422, true])
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
  const answer: { now: WebhookAnswer } = { now: { code: 200, body: '' } }
  const world = await aWorld(answer)
  const { it, create, sent, loop, settle } = world
  const { id } = await create({ enabled: true, triggers: ['run:created'] })
  sent.length = 0
  answer.now = { code: 503, body: 'later' }
  loop.start()
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
  const { it, create, sent, settle } = world
  await create({ enabled: true, triggers: ['run:created'] })
  await world.newRun()
  await settle()
  const count = sent.length
  const webhooks = { send: async () => assert.fail('it was told already') }
  const notifier = { context: it.server.context, webhooks, address: () => '' }
  const next = new NotificationLoop({ notifier, log: { warn: () => undefined } })
  next.start()
  await next.work()
  await next.stop()
  assert.equal(sent.length, count)
})

test('notifications: two reminders are sent before a workspace is destroyed', async () => {
  const world = await aWorld()
  const { it, workspaceId, create, sent, loop, told, settle } = world
  await create({ enabled: true, triggers: ['workspace:auto_destroy_reminder'] })
  await patchWorkspace(it, workspaceId, {
    attributes: { 'auto-destroy-activity-duration': '2d', 'inherits-project-auto-destroy': false },
  })
  loop.start()
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
    /net is destroyed at/,
  )
  assert.equal(told().at(-1), 'workspace:auto_destroy_reminder')
  await loop.stop()
})

test('notifications: verify tells how the receiver answered', async () => {
  const answer: { now: WebhookAnswer } = { now: { code: 204, body: '' } }
  const { it, create } = await aWorld(answer)
  const { id } = await create()
  const params = { notification_configuration_id: id }
  const { data } = await it.ok('verifyNotificationConfiguration', { params })
  assert.equal(data.attributes['delivery-responses'][0]?.code, 204)
  answer.now = { code: null, body: 'nobody is there' }
  const [status, text = ''] = await it.refusal('verifyNotificationConfiguration', { params })
  assert.deepEqual([status, /did not answer: nobody is there/.test(text)], [422, true])
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
