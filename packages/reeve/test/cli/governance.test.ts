import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aCommandLine } from '../build/cli.ts'

const LIMITS = `main = rule {
  all job.task_groups as group { group.count <= 2 }
}
`

/** A plan with one resource whose bucket is not encrypted. */
const PLAN = JSON.stringify({
  format_version: '1.2',
  planned_values: { root_module: {} },
  resource_changes: [
    {
      address: 'bucket.logs',
      mode: 'managed',
      type: 'bucket',
      name: 'logs',
      change: { actions: ['create'], before: null, after: { encrypted: false } },
    },
  ],
})

const BUCKETS = `package buckets

import rego.v1

deny contains msg if {
	some change in input.plan.resource_changes
	change.change.after.encrypted == false
	msg := sprintf("%s is not encrypted", [change.address])
}
`

test('governance commands', async (t) => {
  const reeve = await aCommandLine(t)

  await t.test('without an organization it is said how to make one', async () => {
    assert.match(await reeve.ok('org list'), /^There are no organizations\. "reeve org create/)
    const { code, err } = await reeve.run('project list')
    assert.equal(code, 6)
    assert.match(err, /There is no organization yet[^]*reeve org create NAME --email/)
    assert.match((await reeve.run('org create acme')).err, /needs --email/)
  })

  await t.test('org: create, show, update, list', async () => {
    assert.match(
      await reeve.ok('org create acme --email ops@acme.example'),
      /Email\s+= ops@acme\.example/,
    )
    assert.match(await reeve.ok('org update acme --require-override-comment'), /comment = yes/)
    assert.match(await reeve.ok('org show acme'), /Permissions\s+= .*can-create-project/)
    assert.match(await reeve.ok('org list'), /acme\s+ops@acme\.example/)
    await reeve.ok('org update acme --no-require-override-comment')
  })

  await t.test('project: by name, with tags, of the only organization', async () => {
    const out = await reeve.ok('project create payments --tag env=prod --tag audited')
    assert.match(out, /Tags\s+= (env=prod, audited|audited, env=prod)/)
    assert.match(await reeve.ok('project tag payments env=test'), /env=test/)
    assert.match(await reeve.ok('project update payments --auto-destroy 14d'), /go after = 14d/)
    assert.match(await reeve.ok('project list --search pay'), /^Name .*\npayments {2}/)
    const { code, err } = await reeve.run('project show billing')
    assert.equal(code, 6)
    assert.equal(
      err,
      'reeve project show: There is no project "billing".\n' +
        'For a list, run "reeve project list".\n',
    )
    assert.match((await reeve.run('project tag payments =x')).err, /A tag is KEY or KEY=VALUE/)
  })

  await t.test('workspace: create, tag, lock, move', async () => {
    await reeve.ok('workspace create api')
    assert.match(await reeve.ok('project move payments api'), /Now in project "payments": "api"\./)
    assert.match(await reeve.ok('workspace show api'), /Project\s+= payments/)
    assert.match(await reeve.ok('workspace tag api tier=1'), /tier=1/)
    assert.match(await reeve.ok('workspace lock api --reason freeze'), /Locked\s+= yes: freeze/)
    assert.equal((await reeve.run('workspace lock api')).code, 7)
    assert.match(await reeve.ok('workspace unlock api'), /Locked\s+= no/)
    assert.match(await reeve.ok('workspace list --project payments'), /\napi {2}/)
    assert.match(await reeve.ok('workspace update api --auto-apply'), /Auto-apply\s+= yes/)
    await reeve.ok('workspace update api --no-auto-apply')
  })

  await t.test('team: rights, access to a project', async () => {
    const out = await reeve.ok('team create platform --allow manage-projects')
    assert.match(out, /everywhere = .*manage-projects/)
    assert.match((await reeve.run('team create x --allow fly')).err, /"fly" is none of manage-/)
    assert.doesNotMatch(
      await reeve.ok('team update platform --deny manage-projects'),
      /manage-projects/,
    )
    assert.match(await reeve.ok('team grant platform payments read'), /now has read access/)
    assert.match(await reeve.ok('team grant platform payments write'), /now has write access/)
    assert.match(await reeve.ok('team revoke platform payments'), /no access to project/)
    assert.equal((await reeve.run('team revoke platform payments')).code, 6)
    assert.match(await reeve.ok('team list'), /\nplatform {2}/)
    assert.equal((await reeve.run('team add-user platform nobody')).code, 1)
  })

  await t.test('token: the secret is the answer, and works', async () => {
    const { code, out, err } = await reeve.run('token create --team platform --ttl 1h')
    assert.equal(code, 0)
    assert.match(err, /is not shown again/)
    const secret = out.trim()
    const line = ['org', 'list', '--token', secret]
    assert.match(await reeve.ok(line), /acme/)
    assert.match(await reeve.ok('token list --teams'), /at-/)
    assert.match((await reeve.run('token create --ttl soon')).err, /--ttl needs a time/)
    const nobody = await reeve.run('token create')
    assert.equal(nobody.code, 5)
    assert.match(nobody.err, /is not that of a person, .*\n--team TEAM makes a token of a team/)
    assert.match(
      (await reeve.run('token list')).err,
      /\n--teams lists the tokens of the teams\.\n$/,
    )
    const id = /^at-\w+/m.exec(await reeve.ok('token list --teams'))?.[0] ?? ''
    assert.match(await reeve.ok(['token', 'delete', id]), /is deleted/)
    assert.equal((await reeve.run(line)).code, 5)
  })

  await t.test('policy and policy set: a job is denied', async () => {
    await reeve.file('limits.native', LIMITS)
    await reeve.ok('policy-set create jobs --jobs-of default')
    const out = await reeve.ok('policy create limits.native --level soft-mandatory --set jobs')
    assert.match(out, /Kind\s+= native\nLevel\s+= soft-mandatory/)
    assert.match(out, /Sets\s+= jobs/)
    assert.match(await reeve.ok('policy list --kind native'), /\nlimits {2}native/)
    assert.equal(await reeve.ok('policy download limits'), LIMITS)
    assert.match(await reeve.ok('policy-set show jobs'), /Jobs of namespaces = default/)
    await reeve.file(
      'big.hcl',
      'job "big" {\n  group "g" {\n    count = 3\n    task "t" {\n      driver = "mock"\n    }\n  }\n}\n',
    )
    assert.equal((await reeve.run('job run --detach big.hcl')).code, 8)
    const overridden = 'job run --detach --policy-override --override-comment known big.hcl'
    const passed = await reeve.run(overridden)
    assert.equal(passed.code, 0)
    assert.match(passed.err, /allowed by PolicyOverride/)
    await reeve.ok('policy update limits --level advisory')
    assert.equal((await reeve.run('job run --detach big.hcl')).code, 0)
    assert.match(
      await reeve.ok('policy replay limits'),
      /^Of 3 it would have denied 0, and warned of 3\.\n[^]*job\s+default\/big/,
    )
    await reeve.file('plans.native', 'import "plan/v2" as plan\nmain = false\n')
    assert.match(
      await reeve.ok('policy replay limits --code plans.native'),
      /^Of 0 it would have denied 0, and warned of 0\. It was not asked about 3 more: it is about a plan\.\n/,
    )
  })

  await t.test('policy: try, upload, parameters', async () => {
    await reeve.file('job.json', JSON.stringify({ job: { ID: 'x', TaskGroups: [{ Count: 9 }] } }))
    const tried = await reeve.run('policy try limits job.json')
    assert.equal(tried.code, 8)
    assert.match(tried.out, /^Policy "limits" failed\./)
    await reeve.file('open.native', 'main = rule { true }\n')
    assert.match(await reeve.ok('policy try limits job.json --code open.native'), /passed/)
    assert.match(
      await reeve.ok('policy try limits job.json --code plans.native'),
      /^Policy "limits" was not asked: it is about a plan\.$/m,
    )
    await reeve.file('broken.native', 'main = rule {\n')
    assert.equal((await reeve.run('policy upload limits broken.native --strict')).code, 1)
    assert.match(
      await reeve.ok('policy upload limits broken.native'),
      /does not compile[^]*error 2,1/,
    )
    await reeve.ok('policy upload limits open.native')
    assert.match(
      (await reeve.run('policy upload limits none.native')).err,
      /cannot be read: no such/,
    )
    assert.match(await reeve.ok('policy-set param jobs cpu=4 --sensitive'), /cpu\s+\(sensitive\)/)
    await reeve.ok('policy-set param jobs most=20')
    assert.match(
      await reeve.ok('policy-set show jobs'),
      /\nParameters\s+= cpu=\(sensitive\), most=20\n/,
    )
    await reeve.ok('policy-set param jobs --remove most')
    assert.match(await reeve.ok('policy-set param jobs --remove cpu'), /has no parameters/)
  })

  await t.test('run: a plan is judged, stopped and overridden', async () => {
    await reeve.file('buckets.rego', BUCKETS)
    await reeve.file('plan.json', PLAN)
    await reeve.ok('policy-set create buckets --kind opa --global --overridable')
    await reeve.ok(
      'policy create buckets.rego --query data.buckets.deny --level mandatory --set buckets',
    )
    const evaluated = await reeve.run('run evaluate api plan.json')
    assert.equal(evaluated.code, 8)
    assert.match(evaluated.out, /"buckets" \(mandatory\) failed\n\s+\* .*bucket\.logs is not/)
    const created = await reeve.run('run create api plan.json --message first')
    assert.equal(created.code, 8, created.err)
    assert.match(created.out, /Message\s+= first[^]*bucket\.logs is not encrypted/)
    const [, id = ''] = /Run (run-\w+) is created/.exec(created.err) ?? []
    assert.match(await reeve.ok('run list api'), new RegExp(`${id}\\s+\\w+`))
    await reeve.ok(['run', 'override', id, '--comment', 'known'])
    assert.equal((await reeve.run(['run', 'override', id])).code, 1)
    assert.match(await reeve.ok(['run', 'apply', id]), /Status\s+= confirmed/)
    await reeve.file('empty.json', '{}')
    const refused = await reeve.run('run create api empty.json')
    assert.equal(refused.code, 1)
    assert.match(
      refused.err,
      /The plan was rejected, and run run-\w+ is canceled\.\nreeve run create: The plan must have/,
    )
    assert.doesNotMatch(await reeve.ok('run list api'), /pending/)
    await reeve.file('bad.json', '{')
    assert.match((await reeve.run('run evaluate api bad.json')).err, /"bad\.json" is no JSON/)
  })

  await t.test('what is deleted is asked about', async () => {
    const { code, err } = await reeve.run('policy delete buckets')
    assert.equal(code, 1)
    assert.match(
      err,
      /Delete policy "buckets"\? Cannot ask: standard input is not a terminal\.\nUse --yes/,
    )
    await reeve.ok('policy delete buckets --yes')
    await reeve.ok('policy-set delete buckets --yes')
    await reeve.ok('workspace delete api --yes')
    await reeve.ok('project delete payments --yes')
    await reeve.ok('team delete platform --yes')
    await reeve.ok('org delete acme --yes')
  })

  await t.test('several organizations must be told apart', async () => {
    await reeve.ok('org create one --email a@b.example')
    await reeve.ok('org create two --email a@b.example')
    const { code, err } = await reeve.run('project list')
    assert.equal(code, 2)
    assert.match(err, /Name the organization with --organization: there are one, two\./)
    const environment = { REEVE_ORGANIZATION: 'two' }
    assert.match(await reeve.ok('project list', { environment }), /Default Project/i)
  })
})
