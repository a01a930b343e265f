import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { aCommandLine } from '../build/cli.ts'

const CHANGE = { actions: ['create'], before: null, after: {} }
const PLAN = JSON.stringify({
  format_version: '1.2',
  resource_changes: [{ address: 'a.b', mode: 'managed', type: 'a', name: 'b', change: CHANGE }],
})

test('governance commands: members, versions and decisions', async (t) => {
  const reeve = await aCommandLine(t)
  await reeve.ok('org create acme --email ops@acme.example')
  await reeve.ok('project create payments')
  await reeve.ok('workspace create api --project payments --auto-destroy 14d')

  await t.test('a namespace joins a project and leaves it', async () => {
    assert.match(await reeve.ok('project namespaces payments'), /^No namespace belongs to project/)
    assert.equal(await reeve.ok('project namespaces payments --add default'), 'default\n')
    assert.match(await reeve.ok('project namespaces payments --remove default'), /^No namespace/)
    assert.match((await reeve.run('project namespaces payments --add nowhere')).err, /nowhere/)
  })

  await t.test('a team shows its members, and lets one go', async () => {
    await reeve.ok('team create platform --visibility organization')
    assert.match(await reeve.ok('team show platform'), /Visibility\s+= organization/)
    const { code } = await reeve.run('team remove-user platform nobody')
    assert.equal(code, 1)
    assert.match((await reeve.run('team update platform --visibility loud')).err, /one of secret,/)
  })

  await t.test('a policy set is changed, and so is what it guards', async () => {
    await reeve.file('few.native', 'param most default 3\nmain = rule { most > 2 }\n')
    await reeve.ok('policy create few.native --level hard-mandatory')
    assert.match(await reeve.ok('policy show few'), /Sets\s+= none: it is not enforced/)
    await reeve.ok('policy-set create base --description first')
    assert.match(await reeve.ok('policy-set list'), /\nbase {2}native\s+0\s+nothing/)
    const added = await reeve.ok(
      'policy-set add base --policy few --project payments --workspace api --jobs-of default',
    )
    assert.match(added, /Guards\s+= 1 project, 1 workspace, 1 namespace\nPolicies\s+= few/)
    const spared = await reeve.ok('policy-set add base --except-workspace api')
    assert.match(spared, /Except workspaces\s+= api/)
    await reeve.ok('policy-set remove base --except-workspace api')
    const removed = await reeve.ok('policy-set remove base --workspace api --jobs-of default')
    assert.match(removed, /Guards\s+= 1 project\n/)
    assert.match((await reeve.run('policy-set add base')).err, /Name what is meant: --policy/)
    assert.match(await reeve.ok('policy-set update base --global'), /Guards\s+= every project/)
    const updated = await reeve.ok('policy-set update base --no-global --name basis')
    assert.match(updated, /^Name\s+= basis/)
  })

  await t.test('the policies of a set are replaced by those of an archive', async () => {
    await reeve.file(
      'native.hcl',
      'policy "few" {\n  source = "few.native"\n  enforcement_level = "advisory"\n}\n',
    )
    const packed = spawnSync('tar', ['czf', 'set.tgz', 'native.hcl', 'few.native'], {
      cwd: reeve.directory,
    })
    assert.equal(packed.status, 0)
    await reeve.ok('policy-set create packed')
    const out = await reeve.ok('policy-set upload packed set.tgz')
    assert.match(out, /now has the policies of set\.tgz/)
    assert.match(
      await reeve.ok('policy-set show packed'),
      /\nPolicies\s+= few \(advisory\)\nVersion\s+= polsetver-\w+ of \d{4}-/,
    )
    const { code, err } = await reeve.run('policy-set upload packed native.hcl')
    assert.deepEqual([code, err], [1, 'reeve policy-set upload: The archive is not gzipped\n'])
  })

  await t.test('a run is shown, and decided about', async () => {
    await reeve.file('plan.json', PLAN)
    const { code, err } = await reeve.run('run create api plan.json --message first')
    assert.equal(code, 0, err)
    const id = /Run (run-\w+) is created/.exec(err)?.[1] ?? ''
    assert.match(await reeve.ok(['run', 'show', id]), new RegExp(`ID\\s+= ${id}`))
    const discarded = await reeve.ok(['run', 'discard', id, '--comment', 'not now'])
    assert.match(discarded, /Status\s+= discarded/)
    assert.equal((await reeve.run(['run', 'cancel', id])).code, 7)
    assert.equal((await reeve.run('run show run-nothing')).code, 6)
  })

  await t.test('a workspace that manages nothing may be deleted safely', async () => {
    await reeve.ok('workspace create empty')
    await reeve.ok('workspace delete empty --safe --yes')
  })
})
