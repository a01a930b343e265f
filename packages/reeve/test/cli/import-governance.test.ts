import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aBody, aTagged } from '../api/v2/harness.ts'
import { anInstallation, pageCommands, type Installation } from './import-world.ts'

const ACME = { organization_name: 'acme' }
const CODE = 'main = rule { true }\n'

function many(type: string, ...ids: readonly string[]) {
  return { data: ids.map((id) => ({ type, id })) }
}

/** An organization with one of everything. */
async function fill({ it, client }: Installation): Promise<void> {
  await it.organization('acme')
  const project = await it.project('acme', { name: 'Web', description: 'shop' }, { env: 'prod' })
  const team = await it.team('acme', 'makers', { 'manage-policies': true })
  await it.created('createReservedTagKey', {
    params: ACME,
    body: aBody('reserved-tag-keys', { key: 'owner', 'disable-overrides': true }),
  })
  await it.created('createTeamProjectAccess', {
    body: aBody(
      'team-projects',
      { access: 'write' },
      {
        team: { data: { type: 'teams', id: team.id } },
        project: { data: { type: 'projects', id: project.id } },
      },
    ),
  })
  const workspace = await it.created('createWorkspace', {
    params: ACME,
    body: aBody(
      'workspaces',
      { name: 'shop', 'auto-apply': true },
      { project: { data: { type: 'projects', id: project.id } }, ...aTagged({ tier: '1' }) },
    ),
  })
  const policy = await it.ok('createPolicy', {
    params: ACME,
    body: aBody('policies', { name: 'small', 'enforcement-level': 'advisory' }),
  })
  const params = { policy_id: policy.data.id }
  await client.v2.uploadPolicy({ params, body: CODE })
  const set = await it.created('createPolicySet', {
    params: ACME,
    body: aBody(
      'policy-sets',
      { name: 'guards' },
      {
        policies: many('policies', policy.data.id),
        workspaces: many('workspaces', workspace.data.id),
      },
    ),
  })
  const parameters = [
    { key: 'limit', value: '10', category: 'policy-set', sensitive: false },
    { key: 'secret', value: 'hush', category: 'policy-set', sensitive: true },
  ]
  for (const parameter of parameters)
    await it.created('createPolicySetParameter', {
      params: { policy_set_id: set.data.id },
      body: aBody('vars', parameter),
    })
}

test('import governance', { timeout: 300_000 }, async (t) => {
  const [source, target] = [await anInstallation(t), await anInstallation(t)]
  await fill(source)

  await t.test('the commands of the page work in their order', async () => {
    const other = await anInstallation(t)
    const codes = []
    for (const line of await pageCommands('migrate-governance.md'))
      codes.push(await other.runFrom(source, line))
    assert.deepEqual(codes, [3, 0])
  })

  await t.test('a dry run lists what would be written, and writes nothing', async () => {
    const { code, report } = await target.importFrom(source, 'governance')
    assert.equal(code, 3)
    assert.deepEqual(
      report.Actions.map(({ Kind, Name }) => `${Kind} ${Name}`),
      [
        'organization acme',
        'reserved-tag-key acme/owner',
        'project acme/Web',
        'project acme/Default Project',
        'team acme/makers',
        'team-project acme/makers on Web',
        'workspace acme/shop',
        'policy acme/small',
        'policy-set acme/guards',
        'parameter acme/guards/limit',
      ],
    )
    assert.deepEqual(
      report.Secrets.map(({ Kind, Name }) => `${Kind} ${Name}`),
      ['parameter acme/guards/secret'],
    )
    assert.deepEqual((await target.it.ok('listOrganizations')).data, [])
  })

  await t.test('applied, everything is there', async () => {
    const { code, report } = await target.importFrom(source, 'governance', ['--apply'])
    assert.deepEqual([code, report.Actions.filter(({ Error }) => Error !== '')], [0, []])
    const { data: sets } = await target.it.ok('listPolicySets', { params: ACME })
    const [set] = sets
    assert.equal(set?.relationships.policies.data.length, 1)
    assert.equal(set?.relationships.workspaces?.data.length, 1)
    const [policy] = (await target.it.ok('listOrganizationPolicies', { params: ACME })).data
    const params = { policy_id: policy?.id ?? '' }
    const downloaded = await target.client.v2.downloadPolicy({ params })
    assert.equal(Buffer.from(downloaded.data ?? '').toString(), CODE)
  })

  await t.test('applied again, nothing is written', async () => {
    const { code, report } = await target.importFrom(source, 'governance', ['--apply'])
    assert.deepEqual([code, report.Actions, report.Differences], [0, [], []])
  })

  await t.test('what differs is listed and kept', async () => {
    const { data } = await target.it.ok('listProjects', { params: ACME })
    const web = data.find(({ attributes }) => attributes.name === 'Web')
    await target.it.ok('updateProject', {
      params: { project_id: web?.id ?? '' },
      body: aBody('projects', { description: 'mine' }),
    })
    const { code, report } = await target.importFrom(source, 'governance', ['--apply'])
    assert.deepEqual([code, report.Actions], [0, []])
    assert.deepEqual(
      report.Differences.map(({ Name, Field }) => `${Name} ${Field}`),
      ['acme/Web description'],
    )
    await target.importFrom(source, 'governance', ['--apply', '--overwrite'])
    const after = await target.it.ok('readProject', { params: { project_id: web?.id ?? '' } })
    assert.equal(after.data.attributes.description, 'shop')
  })

  await t.test('an organization that the source does not show is an error', async () => {
    const from = ['--from', source.address, '--from-token', source.token]
    const line = ['import', 'governance', ...from, '--token', target.token]
    const { code, err } = await target.commands.run([...line, '--organization', 'none'])
    assert.equal(code, 6)
    assert.match(err, /The source has no organization "none" that its token sees\./)
  })
})
