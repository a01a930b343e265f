import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { v2 } from '@reeve/contract'
import { LIMITS } from '../../../src/model/index.ts'
import { aBody } from './harness.ts'
import {
  aRunWorld,
  BUCKETS,
  ENCRYPTED,
  OPA_ENCRYPTED,
  PASSWORD,
  type RunWorld,
} from './run-world.ts'

/** Unknown members are ignored, whatever they hold: they only make a body large. */
function padded(body: object, bytes: number): string {
  const text = JSON.stringify({ padding: '', ...body })
  return text.replace('"padding":""', `"padding":"${'x'.repeat(bytes - text.length)}"`)
}

const INLINE = LIMITS.inlineBodyBytesMax
/** A few times the bound: parsed on the thread. */
const LARGE = 4 * INLINE

describe('large bodies', () => {
  let world: RunWorld
  let policy: string
  before(async () => {
    world = await aRunWorld()
    await world.set('opa', {
      name: 'storage',
      policies: [{ name: 'encrypted', code: OPA_ENCRYPTED }],
    })
    policy = await world.policy({ name: 'anything', code: 'main = true' })
  })
  after(() => world.close())

  const evaluate = (body: string) => ({
    params: { workspace_id: world.workspaceId },
    body,
    headers: { 'content-type': v2.JSON_API_TYPE },
  })
  const dryRun = (attributes: object, bytes: number) =>
    evaluate(padded(aBody('policy-dry-runs', attributes), bytes))

  for (const [name, bytes] of [
    ['at the bound', INLINE],
    ['past the bound', INLINE + 1],
    ['far past it', LARGE],
  ] as const)
    for (const [plan, status] of [
      [BUCKETS, 'failed'],
      [ENCRYPTED, 'passed'],
    ] as const)
      test(`a plan in a body ${name} is evaluated: ${status}`, async () => {
        const call = dryRun({ plan: JSON.parse(plan) }, bytes)
        assert.equal(call.body.length, bytes)
        const { data } = await world.it.ok('evaluateWorkspacePolicies', call)
        assert.equal(data.attributes.status, status)
        assert.doesNotMatch(JSON.stringify(data), new RegExp(PASSWORD))
      })

  test('a large plan is evaluated like a small one, and its own names stay what they are', async () => {
    const plan = JSON.parse(BUCKETS)
    const hostile = `{"__proto__":{"encrypted":true},"constructor":1,"notes":"${'é'.repeat(INLINE)}",`
    const text = JSON.stringify(aBody('policy-dry-runs', { plan }))
    const call = evaluate(text.replace('"plan":{', `"plan":${hostile}`))
    const { data } = await world.it.ok('evaluateWorkspacePolicies', call)
    assert.equal(data.attributes.status, 'failed')
    assert.equal('encrypted' in {}, false)
  })

  /** The same request with little and with much around it. */
  const refused: readonly { name: string; attributes: object }[] = [
    { name: 'without a plan', attributes: {} },
    { name: 'with a text for a plan', attributes: { plan: 'none' } },
    { name: 'with a null for a plan', attributes: { plan: null } },
    { name: 'with a plan that is none', attributes: { plan: { format_version: '1.2' } } },
    { name: 'with a plan that is nested too deep', attributes: { plan: { a: nested(70) } } },
    { name: 'with sets of a wrong type', attributes: { plan: {}, 'policy-sets': 7 } },
    {
      name: 'with a set that does not exist',
      attributes: { plan: JSON.parse(BUCKETS), 'policy-sets': ['polset-none'] },
    },
  ]
  for (const { name, attributes } of refused)
    test(`a question ${name} has the same refusal, however large it is`, async () => {
      const small = await world.it.refusal('evaluateWorkspacePolicies', dryRun(attributes, 10_000))
      const large = await world.it.refusal('evaluateWorkspacePolicies', dryRun(attributes, LARGE))
      assert.deepEqual(large, small)
      assert.equal(small[0], 422)
    })

  const malformed = [
    {
      name: 'that ends too early',
      of: (text: string) => text.slice(0, -1),
      says: /it ends unexpectedly at byte \d+$/,
    },
    {
      name: 'with something behind its end',
      of: (text: string) => `${text}}`,
      says: /"}" is not allowed at byte \d+$/,
    },
    {
      name: 'that is nested deeper than any parser follows',
      of: (text: string) => text.replace('{', `{"a":${'['.repeat(600)}${']'.repeat(600)},`),
      says: new RegExp(`more than ${LIMITS.jsonBodyDepthMax} levels`),
    },
    {
      name: 'with too many objects',
      of: (text: string) => text.replace('{', `{"a":[${'{},'.repeat(LIMITS.jsonContainersMax)}1],`),
      says: new RegExp(`more than ${LIMITS.jsonContainersMax} objects`),
    },
  ] as const
  for (const { name, of, says } of malformed)
    test(`a large body ${name} is refused as malformed`, async () => {
      const { body } = dryRun({ plan: JSON.parse(BUCKETS) }, LARGE)
      const [status, ...texts] = await world.it.refusal(
        'evaluateWorkspacePolicies',
        evaluate(of(body)),
      )
      assert.equal(status, 400)
      assert.match(texts.join(' '), says)
    })

  test('a body has the limit of a plan, and one byte more is too large', async () => {
    const call = evaluate(' '.repeat(v2.PLAN_UPLOAD_BYTES_MAX + 1))
    assert.equal((await world.it.refusal('evaluateWorkspacePolicies', call))[0], 413)
  })

  test('other routes drop what they do not know of a large body', async () => {
    const params = { organization_name: 'acme' }
    const headers = { 'content-type': v2.JSON_API_TYPE }
    const create = (attributes: object) => ({
      params,
      headers,
      body: padded(aBody('projects', attributes), LARGE - INLINE),
    })
    const { data } = await world.it.created('createProject', create({ name: 'large-body' }))
    assert.equal(data.attributes.name, 'large-body')
    const refusal = await world.it.refusal('createProject', create({ name: '' }))
    assert.equal(refusal[0], 422)
  })

  const trial = (attributes: object) => ({
    params: { policy_id: policy },
    body: aBody('policy-trials', attributes),
  })
  const large = 'x'.repeat(INLINE)

  test('a large input is parsed where the policy is evaluated', async () => {
    const code = 'main = rule { job.id is "web" }'
    for (const [ID, status] of [
      ['web', 'passed'],
      ['other', 'failed'],
    ] as const) {
      const input = { job: { ID, Meta: { large } } }
      const { data } = await world.it.ok('tryPolicy', trial({ code, input }))
      assert.equal(data.attributes.status, status, JSON.stringify(data.attributes))
    }
  })

  for (const input of [null, 7, {}, { plan: { a: 1 } }])
    test(`the input ${JSON.stringify(input)} has the same refusal, however large it is`, async () => {
      const small = await world.it.refusal('tryPolicy', trial({ input }))
      assert.equal(small[0], 422)
      if (typeof input !== 'object' || input === null) return
      const more = { ...input, large }
      assert.deepEqual(await world.it.refusal('tryPolicy', trial({ input: more })), small)
    })

  /** `{"a":"…"}` */
  const AROUND = 8
  test('a run and params have at most the bytes that the event loop parses', async () => {
    const fits = { a: 'x'.repeat(INLINE - AROUND) }
    const more = { a: 'x'.repeat(INLINE - AROUND + 1) }
    const plan = JSON.parse(BUCKETS)
    const dry = (run: object) => ({
      params: { workspace_id: world.workspaceId },
      body: aBody('policy-dry-runs', { plan, run }),
    })
    await world.it.ok('evaluateWorkspacePolicies', dry(fits))
    const [status, text] = await world.it.refusal('evaluateWorkspacePolicies', dry(more))
    assert.equal(status, 422)
    assert.match(text ?? '', new RegExp(`Run is larger than ${INLINE} bytes`))
    const input = { job: { ID: 'web' } }
    await world.it.ok('tryPolicy', trial({ input, params: fits }))
    const refusal = await world.it.refusal('tryPolicy', trial({ input, params: more }))
    assert.match(refusal.join(' '), new RegExp(`422 .*Params is larger than ${INLINE} bytes`))
  })
})

function nested(levels: number): unknown {
  return levels === 0 ? 1 : [nested(levels - 1)]
}
