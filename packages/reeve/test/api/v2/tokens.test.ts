import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aBody, aGovernanceServer, NOT_FOUND } from './harness.ts'

const ACME = { organization_name: 'acme' }
const TOKEN = aBody('authentication-tokens')

async function withAcme() {
  const it = await aGovernanceServer()
  await it.organization('acme')
  return it
}

test('T10 organization token: created, replaced, read without secret, deleted', async () => {
  const it = await withAcme()
  const params = ACME
  assert.deepEqual(await it.refusal('readOrganizationToken', { params }), NOT_FOUND)
  const first = await it.created('createOrganizationToken', { params })
  assert.match(first.data.attributes.token, /^[1-9A-Za-z]{14}\.rv1\.[1-9A-Za-z]{64}$/)
  const second = await it.created('createOrganizationToken', { params, body: TOKEN })
  assert.notEqual(first.data.attributes.token, second.data.attributes.token)
  assert.equal((await it.refusal('readAccount', { as: first.data.attributes.token }))[0], 401)
  const { data } = await it.ok('readOrganizationToken', { params })
  assert.deepEqual([data.id, data.attributes.token], [second.data.id, null])
  await it.done('deleteOrganizationToken', { params })
  assert.deepEqual(await it.refusal('deleteOrganizationToken', { params }), NOT_FOUND)
  assert.equal((await it.refusal('readAccount', { as: second.data.attributes.token }))[0], 401)
})

test('organization token: the one for the audit trail is another, and sees nothing else', async () => {
  const it = await withAcme()
  const call = { params: ACME, query: { token: 'audit-trails' } }
  const { data } = await it.created('createOrganizationToken', call)
  assert.deepEqual(await it.refusal('readOrganizationToken', { params: ACME }), NOT_FOUND)
  const as = data.attributes.token
  assert.deepEqual(await it.refusal('readOrganization', { params: ACME, as }), NOT_FOUND)
  assert.deepEqual(await it.refusal('listProjects', { params: ACME, as }), NOT_FOUND)
})

test('T11 team tokens: many, told apart by description', async () => {
  const it = await withAcme()
  const { id } = await it.team('acme', 'devs')
  const params = { team_id: id }
  const body = aBody('authentication-token', { description: 'ci' })
  const { data } = await it.created('createTeamToken', { params, body })
  assert.deepEqual(data.relationships.team?.data, { type: 'teams', id })
  const account = await it.ok('readAccount', { as: data.attributes.token })
  assert.equal(account.data.relationships['authenticated-resource'].data.id, id)
  assert.deepEqual(await it.refusal('createTeamToken', { params, body }), [
    422,
    'invalid attributes: Validation failed: Description has already been taken',
  ])
  await it.created('createTeamToken', {
    params,
    body: aBody('authentication-tokens', { description: 'cd' }),
  })
})

const EMPTY_TYPES = [{ data: { type: '' } }, { data: {} }]
for (const body of EMPTY_TYPES)
  test(`tokens: ${JSON.stringify(body)} creates one of every kind, as clients send it`, async () => {
    const it = await withAcme()
    const { id } = await it.team('acme', 'devs')
    const ann = await it.user('ann')
    await it.created('createOrganizationToken', { params: ACME, body })
    await it.created('createSingleTeamToken', { params: { team_id: id }, body })
    const { data } = await it.created('createUserToken', {
      params: { user_id: ann.id },
      body,
      as: ann.token,
    })
    assert.equal(data.attributes.description, null)
    const wrong = { data: { type: 'teams' } }
    assert.equal(
      (await it.refusal('createOrganizationToken', { params: ACME, body: wrong }))[0],
      422,
    )
  })

test('tokens: an empty description is kept, and is not that of the single token', async () => {
  const it = await withAcme()
  const { id } = await it.team('acme', 'devs')
  const params = { team_id: id }
  const body = aBody('authentication-tokens', { description: '' })
  const { data } = await it.created('createTeamToken', { params, body })
  assert.equal(data.attributes.description, '')
  assert.notEqual((await it.ok('readSingleTeamToken', { params })).data.id, data.id)
})

test('tokens: two years are two years of the calendar, leap day or not', async () => {
  const it = await withAcme()
  // From 2026-01-01 on: a leap day lies between here and the end of the token.
  it.server.clock.advance(Date.UTC(2026, 10, 17) - it.server.clock.nowMs())
  const { data } = await it.created('createOrganizationToken', { params: ACME })
  assert.equal(data.attributes['expired-at'], '2028-11-17T00:00:00.000Z')
})

test('T12 team token without description: one, replaced, listed with the others', async () => {
  const it = await withAcme()
  const { id, token: first } = await it.team('acme', 'devs')
  await it.team('acme', 'ops')
  const params = { team_id: id }
  const { data } = await it.created('createSingleTeamToken', { params })
  assert.equal((await it.refusal('readAccount', { as: first }))[0], 401)
  assert.equal((await it.ok('readSingleTeamToken', { params })).data.id, data.id)
  const list = async (query: Record<string, string>) =>
    (await it.ok('listTeamTokens', { params: ACME, query })).data.map((one) => one.id)
  assert.equal((await list({})).length, 2)
  assert.deepEqual(await list({ q: 'DEV' }), [data.id])
  const [ascending, descending] = [
    await list({ sort: 'expired-at' }),
    await list({ sort: '-expired-at' }),
  ]
  assert.deepEqual(ascending, descending.toReversed())
  await it.done('deleteSingleTeamToken', { params })
  assert.deepEqual(await it.refusal('readSingleTeamToken', { params }), NOT_FOUND)
})

test('team tokens: members manage them where the team allows it', async () => {
  const it = await withAcme()
  const { id, token: as } = await it.team('acme', 'devs')
  const params = { team_id: id }
  const body = aBody('authentication-tokens', { description: 'mine' })
  await it.created('createTeamToken', { params, body, as })
  const off = aBody('teams', { 'allow-member-token-management': false })
  await it.ok('updateTeam', { params, body: off })
  assert.deepEqual(await it.refusal('createTeamToken', { params, body, as }), NOT_FOUND)
  assert.deepEqual((await it.ok('listTeamTokens', { params: ACME, as })).data, [])
})

test('T13 user tokens: own ones are listed without secrets, others are an empty list', async () => {
  const it = await withAcme()
  const [ann, bob] = [await it.user('ann'), await it.user('bob')]
  const params = { user_id: ann.id }
  const body = aBody('authentication-tokens', { description: 'laptop' })
  const { data } = await it.created('createUserToken', { params, body, as: ann.token })
  assert.equal(data.attributes['expired-at'], null)
  const list = await it.ok('listUserTokens', { params, as: ann.token })
  assert.deepEqual(
    list.data.map(({ attributes }) => [attributes.description, attributes.token]),
    [
      [null, null],
      ['laptop', null],
    ],
  )
  assert.equal(list.meta, undefined)
  const paged = await it.ok('listUserTokens', { params, query: { 'page[size]': 1 }, as: ann.token })
  assert.equal(paged.meta?.pagination['total-count'], 2)
  assert.deepEqual(await it.refusal('createUserToken', { params, body, as: bob.token }), NOT_FOUND)
  const token = { token_id: data.id }
  assert.deepEqual(
    await it.refusal('readAuthenticationToken', { params: token, as: bob.token }),
    NOT_FOUND,
  )
  assert.deepEqual(
    await it.refusal('deleteAuthenticationToken', { params: token, as: bob.token }),
    NOT_FOUND,
  )
  await it.done('deleteAuthenticationToken', { params: token, as: ann.token })
  assert.equal((await it.refusal('readAccount', { as: data.attributes.token }))[0], 401)
})

test('expiry: a token ends at its time; teams and organizations have two years', async () => {
  const it = await withAcme()
  const { clock } = it.server
  const ann = await it.user('ann')
  const params = { user_id: ann.id }
  const at = (ms: number) => new Date(clock.nowMs() + ms).toISOString()
  const past = aBody('authentication-tokens', { 'expired-at': at(-1) })
  assert.deepEqual(await it.refusal('createUserToken', { params, body: past }), [
    422,
    'invalid attribute: Expired at must be in the future',
  ])
  const body = aBody('authentication-tokens', { 'expired-at': at(1_000) })
  const { data } = await it.created('createUserToken', { params, body })
  const as = data.attributes.token
  await it.ok('readAccount', { as })
  clock.advance(1_000)
  assert.equal((await it.refusal('readAccount', { as }))[0], 401)
  const { data: token } = await it.created('createOrganizationToken', { params: ACME })
  assert.equal(token.attributes['expired-at'], at(730 * 86_400_000))
})

test('last use: exact to the minute, and only as often written', async () => {
  const it = await withAcme()
  const { clock, context } = it.server
  const ann = await it.user('ann')
  const [id = ''] = [...context.store.tables.api_tokens.keys()]
  const used = () => context.store.tables.api_tokens.get(id).lastUsedMs
  assert.equal(used(), null)
  await it.ok('readAccount', { as: ann.token })
  const first = clock.nowMs()
  assert.equal(used(), first)
  clock.advance(59_999)
  await it.ok('readAccount', { as: ann.token })
  assert.equal(used(), first)
  clock.advance(1)
  await it.ok('readAccount', { as: ann.token })
  assert.equal(used(), first + 60_000)
})

test('secrets: none is stored, and none is shown twice', async () => {
  const it = await withAcme()
  const team = await it.team('acme', 'devs')
  const { tables } = it.server.context.store
  const rows = [...tables.api_tokens.rows()].map((row) => JSON.stringify(row)).join()
  assert.ok(!rows.includes(team.token))
  const list = await it.call('listTeamTokens', { params: ACME })
  assert.ok(!list.text.includes(team.token.slice(0, 14)))
})
