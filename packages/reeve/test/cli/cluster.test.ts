import assert from 'node:assert/strict'
import test from 'node:test'
import { aCommandLine } from '../build/cli.ts'
import { runShellJob } from '../build/cli-jobs.ts'
import { until } from '../build/until.ts'

const NAMESPACE_FILE = `
name        = "prod"
description = "What customers see"
capabilities {
  enabled_task_drivers = ["raw_exec"]
}
node_pool_config {
  default = "default"
  denied  = ["gpu"]
}
meta {
  owner = "web"
}
`

test(
  'namespace, node pool, service, var, operator, search, event and ui',
  { timeout: 300_000 },
  async (t) => {
    const reeve = await aCommandLine(t)

    await t.test('namespace: apply from a file, status, inspect and list', async () => {
      await reeve.file('prod.hcl', NAMESPACE_FILE)
      assert.equal(await reeve.ok('namespace apply prod.hcl'), 'Namespace "prod" is stored.\n')
      assert.equal(
        await reeve.ok('namespace status prod'),
        [
          'Name                   = prod',
          'Description            = What customers see',
          'Drivers                = raw_exec',
          'Default node pool      = default',
          'Node pools not allowed = gpu',
          'Meta                   = owner=web',
          '',
        ].join('\n'),
      )
      assert.match(await reeve.ok('namespace list'), /\nprod +What customers see\n$/)
      const json = await reeve.ok('namespace inspect prod')
      await reeve.file('copy.json', json.replace('customers', 'people'))
      await reeve.ok('namespace apply copy.json')
      assert.match(await reeve.ok('namespace status prod'), /What people see\n/)
    })

    await t.test('namespace: flags change what they name and keep the rest', async () => {
      await reeve.ok(['namespace', 'apply', '--description', 'Ours', '--meta', 'a=b', 'prod'])
      const said = await reeve.ok('namespace status prod')
      assert.match(said, /\nDescription +=? ?Ours\nDrivers +=? ?raw_exec\n/)
      assert.match(said, /\nMeta +=? ?a=b\n$/)
      const label = 'namespace "trial" {\n  description = "short"\n}\n'
      assert.equal(
        await reeve.ok('namespace apply -', { input: label }),
        'Namespace "trial" is stored.\n',
      )
      assert.equal(await reeve.ok('namespace delete trial'), 'Namespace "trial" is deleted.\n')
    })

    await t.test('namespace: says what is wrong', async () => {
      await reeve.file('wrong.hcl', 'name = "x"\ndescripton = "y"\n')
      assert.deepEqual(await reeve.run('namespace apply wrong.hcl'), {
        code: 1,
        out: '',
        err:
          'reeve namespace apply: wrong.hcl: "descripton" is not known here. ' +
          'Did you mean "description"?\n' +
          'It may have name, description, quota, meta, capabilities, node_pool_config.\n',
      })
      await reeve.file('broken.hcl', 'name = "x\n')
      const broken = await reeve.run('namespace apply broken.hcl')
      assert.equal(broken.code, 1)
      assert.match(broken.err, /^reeve namespace apply: broken\.hcl is wrong:\nbroken\.hcl:1/)
      const missing = await reeve.run('namespace apply nothing.hcl')
      assert.equal(
        missing.err,
        'reeve namespace apply: "nothing.hcl" cannot be read: no such file or directory.\n' +
          'Name a file that is there, or "-" for standard input.\n',
      )
      const notJson = await reeve.run('namespace apply -', { input: '{"Name":' })
      assert.match(notJson.err, /^reeve namespace apply: - is not JSON: /)
      assert.equal((await reeve.run('namespace status nobody')).code, 6)
      assert.equal((await reeve.run('namespace apply --description x prod.hcl')).code, 2)
      assert.equal((await reeve.run('namespace delete default')).code, 1)
    })

    await t.test('node pool: apply, info, nodes, jobs, list and delete', async () => {
      await reeve.file(
        'gpu.hcl',
        'node_pool "gpu" {\n  description = "cards"\n  meta { a = "b" }\n}\n',
      )
      assert.equal(await reeve.ok('node pool apply gpu.hcl'), 'Node pool "gpu" is stored.\n')
      await reeve.ok(['node', 'pool', 'apply', '--description', 'Graphics', 'gpu'])
      assert.equal(
        await reeve.ok('node pool info gpu'),
        'Name        = gpu\nDescription = Graphics\nMeta        = a=b\n',
      )
      assert.match(await reeve.ok('node pool list'), /\ngpu +Graphics\n/)
      assert.equal(await reeve.ok('node pool nodes gpu'), 'The pool has no nodes.\n')
      assert.equal(await reeve.ok('node pool jobs gpu'), 'No job names the pool.\n')
      assert.equal(await reeve.ok('node pool delete gpu'), 'Node pool "gpu" is deleted.\n')
      assert.equal((await reeve.run('node pool info gpu')).code, 6)
      assert.equal((await reeve.run('node pool delete default')).code, 1)
    })

    await t.test('var: put, get, merge, list and purge', async () => {
      await reeve.file('secret.txt', 'hush')
      const put = ['var', 'put', 'apps/web/db', 'user=web', 'password=@secret.txt', 'note=a=b']
      assert.match(
        await reeve.ok(put),
        /^Variable "apps\/web\/db" is stored \(check index \d+\)\.\n$/,
      )
      assert.equal(await reeve.ok('var get --item password apps/web/db'), 'hush\n')
      assert.match(
        await reeve.ok('var get apps/web/db'),
        /\nItems\nnote +=? ?a=b\npassword +=? ?hush\n/,
      )
      await reeve.ok(['var', 'put', '--merge', 'apps/web/db', 'user=@-'], { input: 'api' })
      const read: { Items: object; ModifyIndex: number } = JSON.parse(
        await reeve.ok('var get --json apps/web/db'),
      )
      assert.deepEqual(read.Items, { user: 'api', password: 'hush', note: 'a=b' })
      assert.match(
        await reeve.ok('var list apps/'),
        /^Path +Changed +Lock\napps\/web\/db +\S+ ago\n$/,
      )
      const stale = await reeve.run(`var put --check-index 1 apps/web/db user=x`)
      assert.deepEqual(stale, {
        code: 7,
        out: '',
        err:
          'reeve var put: The variable was modified in the meantime: its check index is ' +
          `${read.ModifyIndex}.\nRead it again with "reeve var get", then repeat the command.\n`,
      })
      assert.equal((await reeve.run('var get --item nothing apps/web/db')).code, 6)
      assert.equal((await reeve.run('var put apps/web/db nothing')).code, 2)
      assert.equal(await reeve.ok('var purge apps/web/db'), 'Variable "apps/web/db" is deleted.\n')
      assert.equal((await reeve.run('var get apps/web/db')).code, 6)
    })

    await t.test('operator scheduler: changes only what is named', async () => {
      await reeve.ok('operator scheduler set-config --scheduler-algorithm spread')
      await reeve.ok('operator scheduler set-config --preempt-batch true')
      const said = await reeve.ok('operator scheduler get-config')
      assert.match(said, /^Algorithm +=? ?spread\n/)
      assert.match(said, /\nPreemption by batch jobs +=? ?yes\n/)
      assert.match(said, /\nPreemption by system jobs +=? ?yes\n/)
      const stale = 'operator scheduler set-config --preempt-batch false --check-index 1'
      assert.equal((await reeve.run(stale)).code, 7)
      assert.equal((await reeve.run('operator scheduler set-config')).code, 2)
      const unknown = await reeve.run('operator scheduler set-config --scheduler-algorithm best')
      assert.equal(
        unknown.err,
        'reeve operator scheduler set-config: --scheduler-algorithm is one of binpack, spread, ' +
          'not "best".\n',
      )
      const json: { SchedulerAlgorithm: string } = JSON.parse(
        await reeve.ok('operator scheduler get-config --json'),
      )
      assert.equal(json.SchedulerAlgorithm, 'spread')
    })

    await t.test('service: list, info and delete', async () => {
      assert.equal(await reeve.ok('service list'), 'No services are registered.\n')
      const group = {
        Networks: [{ Mode: 'host', DynamicPorts: [{ Label: 'http' }] }],
        Services: [{ Name: 'web', PortLabel: 'http', Provider: 'service', Tags: ['blue'] }],
      }
      await runShellJob(t, reeve.client, { id: 'web', script: 'exec sleep 1000', group })
      await until('the service', async () => {
        const said = await reeve.ok('service list')
        return (
          /^Name +Namespace +Instances +Failing +Tags\nweb +default +1 +0 +blue\n$/.test(said) ||
          undefined
        )
      })
      const info = await reeve.ok('service info web')
      assert.match(
        info,
        /^Job +Address +Node +Allocation +Checks +Tags\nweb +\S+:\d+ +\w{8} +\w{8} +blue\n$/,
      )
      const id = await reeve.ok(['service', 'info', '-t', '{{ (index . 0).ID }}', 'web'])
      const gone = await reeve.ok(['service', 'delete', 'web', id.trim()])
      assert.equal(gone, `Instance ${id.trim()} of service "web" is no longer registered.\n`)
      assert.equal((await reeve.run('service info nobody')).code, 6)
    })

    await t.test('search: by beginning, and anywhere', async () => {
      assert.match(await reeve.ok('search we'), /\njobs +web\n/)
      assert.match(await reeve.ok('search --fuzzy mai'), /\ntasks +main +default \/ web \/ group\n/)
      assert.equal(await reeve.ok('search --context nodes zzz'), 'No matches.\n')
      const found: { Matches: { jobs: readonly string[] } } = JSON.parse(
        await reeve.ok('search --json --context jobs web'),
      )
      assert.deepEqual(found.Matches.jobs, ['web'])
      assert.equal((await reeve.run('search --context moons x')).code, 1)
    })

    await t.test('system gc, system reconcile summaries and server members', async () => {
      assert.match(await reeve.ok('system gc'), /^Garbage collection started/)
      assert.match(
        await reeve.ok('system reconcile summaries'),
        /^Job summaries are being recomputed\.\n$/,
      )
      assert.match(await reeve.ok('server members'), /\n\S+ +127\.0\.0\.1:\d+ +alive +leader +/)
    })

    await t.test('event stream: lines of JSON from an index on, by topic', async () => {
      const all = await reeve.ok('event stream --topic Node --topic Job:web --count 2')
      const lines: readonly { Index: number; Events: readonly { Topic: string }[] }[] = all
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
      assert.deepEqual(
        lines.map(({ Events }) => Events[0]?.Topic),
        ['Node', 'Job'],
      )
      const template = '{{ range .Events }}{{ .Type }} {{ .Key }}{{ end }}'
      const index = String(lines[1]?.Index)
      const later = ['event', 'stream', '--topic', 'Job', '--index', index, '--count', '1']
      assert.equal(await reeve.ok([...later, '-t', template]), 'JobRegistered web\n')
      const refused = await reeve.run('event stream --topic Moon')
      assert.equal(refused.code, 2)
      assert.match(refused.err, /there is no topic "Moon": \*, ACLToken, /)
    })

    await t.test('event stream: follows until Ctrl-C', async () => {
      const leaving = new AbortController()
      let written = ''
      const following = reeve.run('event stream --topic NodePool', {
        signal: leaving.signal,
        onWritten: (text) => (written += text),
      })
      await reeve.ok('node pool apply late')
      await until('the event', () => written.includes('"Key":"late"') || undefined)
      leaving.abort()
      assert.equal((await following).code, 130)
    })

    await t.test(
      'ui: without ACLs it signs in on this machine, for the governance pages',
      async () => {
        const { out, err } = await reeve.run('ui')
        assert.match(out, /^http:\/\/127\.0\.0\.1:\d+\/ui\/sign-in#token=[-0-9a-f]{36}\n$/)
        assert.match(err, /^It holds the token of this command line/)
        const json: object = JSON.parse(await reeve.ok('ui --json --no-sign-in'))
        assert.deepEqual(json, { URL: `${reeve.address}/ui/`, SignsIn: false })
      },
    )

    await t.test('every group says what it is about', async () => {
      for (const group of ['node pool', 'acl token', 'operator scheduler', 'var', 'event']) {
        const { code, out } = await reeve.run(`${group} --help`)
        assert.equal(code, 0)
        assert.match(out, /\nExamples:\n {2}reeve /)
      }
    })
  },
)
